#include "analyzer/index/index_file.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "analyzer/index/tuple_file.h"
#include "patterns/crc32c.h"

namespace iotune::analyzer {
namespace {

using patterns::ByteReader;
using patterns::ByteWriter;

constexpr std::size_t kHeadBytes = 16;
constexpr std::size_t kBlockHeadBytes = 16;
constexpr std::size_t kSizeBytes = 8;
// Places that look like a block and are none, before the rest counts as damage: each costs a
// checksum of what may be all the rest.
constexpr int kMostFalseBlocks = 256;
constexpr unsigned kNestColumns = 6;
constexpr unsigned kLevelColumns = 5;
constexpr unsigned kSegmentColumns = 5;

void append_words(std::vector<std::byte>& to, std::initializer_list<std::uint32_t> words) {
  std::byte bytes[16];
  ByteWriter writer(bytes);
  for (const std::uint32_t word : words) writer.u32le(word);
  to.insert(to.end(), writer.written().begin(), writer.written().end());
}

std::uint32_t checksum(std::span<const std::byte> size_field, std::span<const std::byte> payload) {
  const std::uint32_t seed = patterns::crc32c(size_field.data(), size_field.size());
  return patterns::crc32c(payload.data(), payload.size(), seed);
}

// The columns of one list, row by row.
using Rows = std::vector<std::int64_t>;

void append_payload(const IndexParts& parts, std::vector<std::byte>& to) {
  Rows rows;
  for (const StreamEnd& end : parts.ends) rows.insert(rows.end(), {end.position, end.physical});
  append_tuples(to, rows, 2);
  parts.names.write(to);
  StreamTimes(parts.knots).write(to);
  append_tuples(to, Rows(parts.slots.begin(), parts.slots.end()), 1);
  rows.clear();
  Rows levels;
  for (const Nest& nest : parts.nests) {
    rows.insert(rows.end(), {nest.start, nest.length, nest.position, nest.physical, nest.slot,
                             static_cast<std::int64_t>(nest.levels.size())});
    for (const NestLevel& level : nest.levels) {
      levels.insert(levels.end(), {level.stride, level.count, level.position_step,
                                   level.physical_step, level.slot_step});
    }
  }
  append_tuples(to, rows, kNestColumns);
  append_tuples(to, levels, kLevelColumns);
  rows.clear();
  for (const Segment& s : parts.segments) {
    rows.insert(rows.end(), {s.start, s.length, s.stream, s.position, s.physical});
  }
  append_tuples(to, rows, kSegmentColumns);
}

// Takes one payload apart. What the numbers mean is checked by IndexBuilder::add.
class PayloadReader {
 public:
  PayloadReader(std::span<const std::byte> payload, std::size_t most_bytes)
      : in_(payload), most_bytes_(most_bytes) {}

  bool read(IndexParts& to) {
    return ends(to) && StreamNames::read(in_, most_bytes_, to.names) && knots(to) && slots(to) &&
           nests(to) && segments(to) && in_.bytes_left() == 0;
  }

 private:
  // `bytes` is what a row becomes in memory, at least.
  bool list(unsigned columns, std::size_t bytes) {
    const std::size_t most = most_bytes_ / std::max(bytes, columns * sizeof(std::int64_t));
    return read_tuples(in_, columns, most, rows_);
  }
  static bool is_stream(std::int64_t number) { return number >= 0 && number < kMostStreams; }

  bool ends(IndexParts& to) {
    if (!list(2, sizeof(StreamEnd))) return false;
    for (std::size_t i = 0; i < rows_.size(); i += 2) to.ends.push_back({rows_[i], rows_[i + 1]});
    return true;
  }
  bool knots(IndexParts& to) {
    return StreamTimes::read(in_, most_bytes_ / sizeof(TimeKnot), to.knots);
  }
  bool slots(IndexParts& to) {
    if (!list(1, 0)) return false;
    for (const std::int64_t stream : rows_) {
      if (!is_stream(stream)) return false;
      to.slots.push_back(static_cast<std::uint32_t>(stream));
    }
    return true;
  }
  bool nests(IndexParts& to) {
    if (!list(kNestColumns, sizeof(Nest))) return false;
    const Rows nests = rows_;
    if (!list(kLevelColumns, sizeof(NestLevel))) return false;
    std::size_t level = 0;
    for (std::size_t i = 0; i < nests.size(); i += kNestColumns) {
      const std::int64_t* n = nests.data() + i;
      Nest nest{n[0], n[1], n[2], n[3], n[4], {}};
      if (n[5] < 1 || n[5] > kMaxNestLevels) return false;
      for (std::int64_t k = 0; k < n[5]; ++k, level += kLevelColumns) {
        if (level + kLevelColumns > rows_.size()) return false;
        const std::int64_t* l = rows_.data() + level;
        nest.levels.push_back({l[0], l[1], l[2], l[3], l[4]});
      }
      to.nests.push_back(std::move(nest));
    }
    return level == rows_.size();
  }
  bool segments(IndexParts& to) {
    if (!list(kSegmentColumns, sizeof(Segment))) return false;
    for (std::size_t i = 0; i < rows_.size(); i += kSegmentColumns) {
      const std::int64_t* s = rows_.data() + i;
      if (!is_stream(s[2])) return false;
      to.segments.push_back({s[0], s[1], s[3], s[4], static_cast<std::uint32_t>(s[2])});
    }
    return true;
  }

  ByteReader in_;
  std::size_t most_bytes_;
  Rows rows_;
};

// The payload of the block at the reader's place, and the reader behind it; false where there is
// no whole block with the right checksum, and then the reader did not move.
bool take_block(ByteReader& in, std::span<const std::byte>& payload, int& false_blocks) {
  ByteReader ahead = in;
  if (ahead.u32le() != kIndexBlockMagic || false_blocks > kMostFalseBlocks) return false;
  const std::uint32_t crc = ahead.u32le();
  const auto size_field = ByteReader(ahead).take(kSizeBytes);
  const std::uint64_t size = ahead.u64le();
  payload = ahead.take(size);
  if (ahead.failed()) return false;
  if (checksum(size_field, payload) != crc) {
    ++false_blocks;
    return false;
  }
  in = ahead;
  return true;
}

}  // namespace

std::vector<std::byte> index_file_head() {
  std::vector<std::byte> head(sizeof kIndexFileMagic - 1);
  std::memcpy(head.data(), kIndexFileMagic, head.size());
  append_words(head, {kIndexFileVersion});
  return head;
}

std::vector<std::byte> index_block(const IndexParts& parts) {
  std::vector<std::byte> payload;
  append_payload(parts, payload);
  std::vector<std::byte> size;
  const std::uint64_t bytes = payload.size();
  append_words(size, {static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(bytes >> 32U)});
  std::vector<std::byte> block;
  append_words(block, {kIndexBlockMagic, checksum(size, payload)});
  block.insert(block.end(), size.begin(), size.end());
  block.insert(block.end(), payload.begin(), payload.end());
  return block;
}

std::vector<std::byte> write_index(const OffsetIndex& index) {
  std::vector<std::byte> bytes = index_file_head();
  const std::vector<std::byte> block = index_block(index.parts());
  bytes.insert(bytes.end(), block.begin(), block.end());
  return bytes;
}

Result<IndexFile> read_index_blocks(std::span<const std::byte> bytes, const ReadLimits& limits) {
  const std::size_t magic_bytes = sizeof kIndexFileMagic - 1;
  if (bytes.size() < kHeadBytes || std::memcmp(bytes.data(), kIndexFileMagic, magic_bytes) != 0) {
    return Error{"", "not an index"};
  }
  ByteReader in(bytes.subspan(magic_bytes));
  const std::uint32_t version = in.u32le();
  if (version != kIndexFileVersion) {
    return Error{"", "an index of version " + std::to_string(version) + "; this iotune reads " +
                         std::to_string(kIndexFileVersion)};
  }
  IndexFile file;
  int false_blocks = 0;
  while (in.bytes_left() != 0) {
    std::span<const std::byte> payload;
    IndexParts parts;
    if (in.bytes_left() < kBlockHeadBytes || !take_block(in, payload, false_blocks)) {
      in.u8();
      ++file.bytes_passed_over;
    } else if (PayloadReader(payload, limits.block_bytes).read(parts)) {
      file.blocks.push_back(std::move(parts));
    } else {
      file.bytes_passed_over += kBlockHeadBytes + payload.size();
    }
  }
  return file;
}

Result<OffsetIndex> read_index(std::span<const std::byte> bytes, bool allow_damage,
                               const ReadLimits& limits) {
  auto file = read_index_blocks(bytes, limits);
  if (!file) return file.error();
  if (file->bytes_passed_over != 0 && !allow_damage) {
    return Error{"", std::to_string(file->bytes_passed_over) + " bytes of damage"};
  }
  IndexBuilder builder(limits.index);
  for (std::size_t i = 0; i < file->blocks.size(); ++i) {
    if (auto wrong = builder.add(file->blocks[i])) {
      return Error{"", "block " + std::to_string(i) + ": " + wrong->message};
    }
  }
  return builder.build();
}

}  // namespace iotune::analyzer
