// Each stream on its own as nested loops.
#include "tests/bench/our_coder.h"

#include <cstdint>
#include <stdexcept>

#include "patterns/tuple_loops.h"

namespace iotune::bench {
namespace {

constexpr unsigned kDims = 2;
static_assert(sizeof(patterns::Extent) == kDims * sizeof(std::int64_t));

std::span<const std::int64_t> values_of(const std::vector<patterns::Extent>& accesses) {
  return {reinterpret_cast<const std::int64_t*>(accesses.data()), accesses.size() * kDims};
}

}  // namespace

std::vector<std::byte> encode(const generators::Workload& of) {
  std::vector<std::byte> bytes;
  std::vector<std::byte> scratch;
  std::vector<std::byte> out;
  for (const generators::Stream& stream : of.streams) {
    const std::size_t n = stream.accesses.size();
    const auto values = values_of(stream.accesses);
    scratch.resize(std::max(scratch.size(), patterns::scratch_bytes(n, kDims)));
    out.resize(std::max(out.size(), patterns::plain_bytes(values, n, kDims) + 32));
    patterns::ByteWriter writer(out);
    writer.varint(stream.rank);
    writer.varint(n);
    if (!patterns::encode_tuples(values, n, kDims, scratch, writer)) {
      throw std::runtime_error("a stream is too long");
    }
    const auto written = writer.written();
    bytes.insert(bytes.end(), written.begin(), written.end());
  }
  return bytes;
}

std::vector<generators::Stream> decode(std::span<const std::byte> bytes) {
  std::vector<generators::Stream> streams;
  patterns::ByteReader reader(bytes);
  while (reader.bytes_left() > 0) {
    generators::Stream stream{static_cast<std::uint32_t>(reader.varint()), {}};
    const std::uint64_t n = reader.varint();
    if (reader.failed() || n > patterns::kMaxTuples) throw std::runtime_error("damaged");
    stream.accesses.resize(static_cast<std::size_t>(n));
    auto* values = reinterpret_cast<std::int64_t*>(stream.accesses.data());
    if (!patterns::decode_tuples(reader, stream.accesses.size(), kDims,
                                 {values, stream.accesses.size() * kDims})) {
      throw std::runtime_error("damaged");
    }
    streams.push_back(std::move(stream));
  }
  return streams;
}

}  // namespace iotune::bench
