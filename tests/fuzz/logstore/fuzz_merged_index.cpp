// By the first byte of the input: any bytes as a merged index, as its payload under right
// checksums, or as the payload of the index in it. Reading ends, in its memory; what it accepts
// merges with a writer that it does not cover, and the map then says what is in order, without
// gaps, and within the logs.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "analyzer/index/index_file.h"
#include "analyzer/index/tuple_file.h"
#include "logstore/format.h"
#include "logstore/read/log_map.h"
#include "logstore/read/merged_index.h"
#include "patterns/bytes.h"
#include "patterns/crc32c.h"

namespace {

using namespace iotune::logstore;
using iotune::patterns::ByteWriter;
using iotune::patterns::crc32c;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kId = 1;
constexpr ReadLimits kLimits{
    .writers = 64, .block_rows = 4096, .block_nests = 2048, .entries = 4096};

void require(bool holds) {
  if (!holds) std::abort();
}

void append(Bytes& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

// The bytes that an empty merged index has, with another payload under right checksums.
Bytes with_payload(std::span<const std::byte> payload) {
  MergedIndex none;
  none.container_id = kId;
  none.size = 4096;
  Bytes bytes = write_merged_index(none);
  bytes.resize(kHeadBytes);
  ByteWriter sizes{std::span<std::byte>(bytes).subspan(48, 12)};
  sizes.u64le(payload.size());
  sizes.u32le(crc32c(payload.data(), payload.size()));
  ByteWriter(std::span<std::byte>(bytes).subspan(60, 4)).u32le(crc32c(bytes.data(), 60));
  append(bytes, payload);
  return bytes;
}

// Of two covered writers, with an index whose payload is the input.
Bytes with_index(std::span<const std::byte> input) {
  Bytes payload;
  const std::int64_t rows[] = {64, 4096, 0, 1024};
  iotune::analyzer::append_tuples(payload, rows, 2);
  iotune::analyzer::StreamNames().write(payload);
  append(payload, iotune::analyzer::index_file_head());
  Bytes block(16);
  ByteWriter size{std::span<std::byte>(block).subspan(8)};
  size.u64le(input.size());
  const std::uint32_t seed = crc32c(block.data() + 8, 8);
  ByteWriter head(block);
  head.u32le(iotune::analyzer::kIndexBlockMagic);
  head.u32le(crc32c(input.data(), input.size(), seed));
  append(payload, block);
  append(payload, input);
  return with_payload(payload);
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
  const std::span<const std::byte> rest = std::as_bytes(std::span(data + 1, size - 1));
  Bytes bytes;
  switch (data[0] % 3) {
    case 0:
      bytes.assign(rest.begin(), rest.end());
      break;
    case 1:
      bytes = with_payload(rest);
      break;
    default:
      bytes = with_index(rest);
  }
  const auto read = read_merged_index(bytes, kId, kLimits);
  if (!read || !read->merged) {
    require(!read || !read->damage.empty());
    return 0;
  }
  const MergedIndex& merged = *read->merged;
  std::vector<std::int64_t> logs;
  for (const CoveredWriter& one : merged.covered) logs.push_back(one.log_bytes / (1 + data[0] % 2));
  Bytes index(kHeadBytes);
  write_index_head({kId, 1000, 0, 0}, HeadBytes(index));
  std::vector<WriterReport> reports;
  const CoveredBytes covered{merged, logs};
  const auto map = LogMap::merge(kId, {{"zz", index, 4096}}, reports, kLimits, &covered);
  if (!map) return 0;
  require(map->size() >= 0 && map->size() <= kLargestFile);
  require(map->writers() == merged.covered.size() + 1 && reports.size() == map->writers());
  ask(*map, 0);
  ask(*map, map->size() - 200);
  return 0;
}
