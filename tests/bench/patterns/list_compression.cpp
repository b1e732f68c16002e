#include "tests/bench/patterns/list_compression.h"

#include <zlib.h>
#include <zstd.h>

#include <stdexcept>

#include "patterns/bytes.h"

namespace iotune::bench {
namespace {

void varint(std::vector<std::byte>& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) out.push_back(static_cast<std::byte>(value | 0x80U));
  out.push_back(static_cast<std::byte>(value));
}

std::size_t zlib_bytes(const std::vector<std::byte>& list) {
  uLongf size = compressBound(list.size());
  std::vector<std::byte> packed(size);
  const auto* source = reinterpret_cast<const Bytef*>(list.data());
  if (compress2(reinterpret_cast<Bytef*>(packed.data()), &size, source, list.size(), 9) != Z_OK) {
    throw std::runtime_error("zlib does not compress");
  }
  std::vector<std::byte> back(list.size());
  uLongf back_size = back.size();
  const auto* from = reinterpret_cast<const Bytef*>(packed.data());
  if (uncompress(reinterpret_cast<Bytef*>(back.data()), &back_size, from, size) != Z_OK ||
      back != list) {
    throw std::runtime_error("zlib loses something");
  }
  return size;
}

std::size_t zstd_bytes(const std::vector<std::byte>& list) {
  std::vector<std::byte> packed(ZSTD_compressBound(list.size()));
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), list.data(), list.size(), 19);
  if (ZSTD_isError(size) != 0) throw std::runtime_error("zstd does not compress");
  std::vector<std::byte> back(list.size());
  if (ZSTD_decompress(back.data(), back.size(), packed.data(), size) != back.size() ||
      back != list) {
    throw std::runtime_error("zstd loses something");
  }
  return size;
}

}  // namespace

std::vector<std::byte> delta_list(const generators::Workload& of) {
  std::vector<std::byte> list;
  for (const generators::Stream& stream : of.streams) {
    varint(list, stream.rank);
    varint(list, stream.accesses.size());
    patterns::Extent before{0, 0};
    for (const patterns::Extent& access : stream.accesses) {
      varint(list, patterns::zigzag(access.offset - before.offset));
      varint(list, patterns::zigzag(access.length - before.length));
      before = access;
    }
  }
  return list;
}

CompressedBytes compressed_bytes(const generators::Workload& of) {
  const std::vector<std::byte> list = delta_list(of);
  return {zlib_bytes(list), zstd_bytes(list)};
}

}  // namespace iotune::bench
