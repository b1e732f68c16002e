// By the first byte of the input: any bytes as two writers' indexes behind right heads, or as the
// payloads of blocks whose checksums are right. Merging ends, in its memory, and what the map then
// says of the file is in order, without gaps, and within the logs.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "logstore/format.h"
#include "logstore/read/log_map.h"
#include "patterns/bytes.h"
#include "patterns/crc32c.h"

namespace {

using namespace iotune::logstore;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kId = 1;
constexpr ReadLimits kLimits{.block_rows = 4096, .block_nests = 2048, .entries = 4096};

void require(bool holds) {
  if (!holds) std::abort();
}

Bytes head() {
  Bytes bytes(kHeadBytes);
  write_index_head({kId, 1000, 0, 0}, HeadBytes(bytes));
  return bytes;
}

// The first byte says how long the payload is, the next whether the block is durable, the third
// where it begins.
void append_block(std::span<const std::byte>& input, Bytes& to) {
  const auto value = [&](std::size_t i) { return static_cast<std::uint64_t>(input[i]); };
  const std::size_t size = std::min<std::size_t>(value(0), input.size() - 3);
  Bytes block(kBlockHeadBytes + size);
  iotune::patterns::ByteWriter writer(block);
  writer.u32le(kBlockMagic);
  writer.u32le(0);
  writer.u32le(static_cast<std::uint32_t>(size));
  writer.u32le(static_cast<std::uint32_t>(value(1) & 1U));
  writer.u64le(value(2));
  writer.u64le(value(2) * 64);
  writer.u64le(value(1) << 52U);
  std::copy_n(input.begin() + 3, size, block.begin() + kBlockHeadBytes);
  iotune::patterns::ByteWriter(std::span(block).subspan(4, 4))
      .u32le(iotune::patterns::crc32c(block.data() + 8, block.size() - 8));
  to.insert(to.end(), block.begin(), block.end());
  input = input.subspan(3 + size);
}

void ask(const LogMap& map, std::int64_t from) {
  if (from < 0) from = 0;
  for (const LogPiece& piece : map.pieces(from, 256)) {
    require(piece.offset == from && piece.length > 0);
    from = piece.end();
    if (piece.kind == LogPiece::Kind::kHole) continue;
    require(piece.writer < map.writers() && piece.physical >= 0);
    require(piece.kind == LogPiece::Kind::kMissing ||
            piece.physical + piece.length <= map.log_bytes(piece.writer));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::span<const std::byte> rest = std::as_bytes(std::span(data + 1, size - 1));
  Bytes indexes[2] = {head(), head()};
  if (data[0] % 4 == 0) {
    const std::size_t half = rest.size() / 2;
    indexes[0].insert(indexes[0].end(), rest.begin(),
                      rest.begin() + static_cast<std::ptrdiff_t>(half));
    indexes[1].insert(indexes[1].end(), rest.begin() + static_cast<std::ptrdiff_t>(half),
                      rest.end());
  } else {
    for (std::size_t i = 0; rest.size() > 3; ++i) append_block(rest, indexes[i % 2]);
  }
  std::vector<WriterReport> reports;
  const auto map = LogMap::merge(
      kId, {{"a", indexes[0], 4096}, {"b", indexes[1], (data[0] / 4) * 64}}, reports, kLimits);
  if (!map) return 0;
  require(map->size() >= 0 && map->size() <= kLargestFile && map->writers() == 2);
  ask(*map, 0);
  ask(*map, map->size() - 200);
  return 0;
}
