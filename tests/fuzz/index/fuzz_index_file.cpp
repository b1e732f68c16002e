// By the first byte of the input:
// - any bytes as a file, or as the payload of a block whose checksum is right: reading ends, in its
//   memory, and whatever index comes of it answers every question and survives being written;
// - any batches: what is built, written and read answers as a model of bytes does.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "analyzer/index/index_builder.h"
#include "analyzer/index/index_file.h"
#include "patterns/bytes.h"
#include "patterns/crc32c.h"

namespace {

using namespace iotune::analyzer;
using iotune::patterns::Extent;

void require(bool holds) {
  if (!holds) std::abort();
}

constexpr ReadLimits kLimits{.block_bytes = std::size_t{1} << 22U, .index = {.entries = 4096}};

// A piece says of each byte what the byte itself would.
void ask(const OffsetIndex& index) {
  std::int64_t offset = 0;
  for (int i = 0; i < 64; ++i) {
    const IndexPiece piece = index.at(offset);
    require(piece.offset == offset && piece.length > 0);
    require(piece.is_hole() || piece.stream < index.streams());
    const IndexPiece last = index.at(piece.end() - 1);
    require(last.stream == piece.stream && last.position == piece.position);
    if (piece.end() == INT64_MAX) break;
    offset = piece.end();
  }
  for (std::uint32_t stream = 0; stream < std::min<std::size_t>(index.streams(), 8); ++stream) {
    (void)index.stream_name(stream);
    (void)index.time_of(stream, index.stream_end(stream).position);
  }
}

void any_bytes(std::span<const std::byte> bytes, bool allow_damage) {
  const auto index = read_index(bytes, allow_damage, kLimits);
  if (!index) return;
  ask(*index);
  const auto again = read_index(write_index(*index), false, kLimits);
  if (!again) return;  // more entries than the limit, where folds were undone
  require(again->end() == index->end() && again->streams() == index->streams());
}

// A file of one block with this payload.
std::vector<std::byte> file_of(std::span<const std::byte> payload) {
  std::vector<std::byte> bytes = index_file_head();
  std::vector<std::byte> block(16 + payload.size());
  iotune::patterns::ByteWriter length(std::span(block).subspan(8, 8));
  length.u64le(payload.size());
  std::copy(payload.begin(), payload.end(), block.begin() + 16);
  iotune::patterns::ByteWriter head(std::span(block).first(8));
  head.u32le(kIndexBlockMagic);
  head.u32le(iotune::patterns::crc32c(block.data() + 8, block.size() - 8));
  bytes.insert(bytes.end(), block.begin(), block.end());
  return bytes;
}

// Bytes as batches of short steps, so that they overlap and repeat.
void any_batches(std::span<const std::byte> bytes) {
  struct Byte {
    std::uint32_t stream = kHole;
    std::int64_t position = 0, physical = 0;
  };
  constexpr std::size_t kFile = 2048;
  std::vector<Byte> model(kFile);
  StreamEnd ends[3] = {};
  IndexBuilder builder({.entries = 4096});
  std::int64_t offset = 0;
  while (bytes.size() >= 4) {
    const auto value = [&](std::size_t i) { return static_cast<int>(bytes[i]); };
    const auto stream = static_cast<std::uint32_t>(value(0) % 3);
    const int count = 1 + value(0) / 3 % 40;
    const std::int64_t step = value(1) - 128;
    const std::int64_t length = value(2) % 24;
    const std::int64_t growth = value(3) % 3;
    bytes = bytes.subspan(4);
    std::vector<Extent> batch;
    for (int k = 0; k < count; ++k) {
      offset = std::clamp<std::int64_t>(offset + step, 0, kFile - 128);
      batch.push_back({offset, length + growth * k % 60});
    }
    // Without times: later than all before.
    if (builder.add(stream, batch)) return;
    for (const Extent& access : batch) {
      for (std::int64_t k = 0; k < access.length; ++k) {
        model[static_cast<std::size_t>(access.offset + k)] = {stream, ends[stream].position,
                                                              ends[stream].physical + k};
      }
      ++ends[stream].position;
      ends[stream].physical += access.length;
    }
  }
  const auto built = builder.build();
  require(static_cast<bool>(built));
  const auto read = read_index(write_index(*built));
  require(static_cast<bool>(read));
  for (const OffsetIndex* index : {&*built, &*read}) {
    for (std::size_t at = 0; at < kFile; ++at) {
      const IndexPiece piece = index->at(static_cast<std::int64_t>(at));
      const Byte& byte = model[at];
      require(piece.stream == byte.stream);
      require(piece.is_hole() ||
              (piece.position == byte.position && piece.physical == byte.physical));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::span<const std::byte> rest = std::as_bytes(std::span(data + 1, size - 1));
  switch (data[0] % 4) {
    case 0:
      any_bytes(rest, true);
      break;
    case 1:
    case 2:
      any_bytes(file_of(rest), false);
      break;
    default:
      any_batches(rest.first(std::min<std::size_t>(rest.size(), 64)));
  }
  return 0;
}
