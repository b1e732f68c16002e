#include "recorder/read/trace_blocks/buffer_reader.h"

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "patterns/bytes.h"
#include "recorder/events_encoder.h"
#include "recorder/format.h"

namespace iotune::recorder {
namespace {

constexpr char kBufferMagic[8] = {'I', 'O', 'T', 'B', 'U', 'F', 0, 0};
constexpr std::uint64_t kMaxRingBytes = 4U << 20U;  // sixteen times what is written
constexpr unsigned kRateShift = 24;

struct Segment {
  std::uint32_t kind, thread;
  std::uint64_t offset, bytes;
};

std::uint64_t read_word(const InputFile& file, std::uint64_t offset) {
  std::array<std::byte, 8> bytes{};
  file.read(offset, bytes);
  return patterns::ByteReader(bytes).u64le();
}

constexpr std::uint64_t kBeforeRecords = kRingHeadBytes + kRingMarksBytes;

void read_marks(const InputFile& file, const Segment& segment, RingImage& ring) {
  RingMarks read{};
  file.read(segment.offset + 8, std::as_writable_bytes(std::span(&read, 1)));
  const bool of_epoch = read.word >> 32U == ring.epoch;
  ring.bin_shift = bin_shift_in(read.word);
  // Damage may claim any width.
  const bool any = of_epoch && ring.bin_shift >= kLeastReadBinShift;
  ring.marks.assign(read.mark, read.mark + (any ? marks_in(read.word) : 0));
}

RingImage read_ring(const InputFile& file, const Segment& segment, BufferImage& image) {
  RingImage ring;
  ring.thread = segment.thread;
  const std::uint64_t capacity = segment.bytes - kBeforeRecords;
  // Within an epoch records are only appended. A ring that is emptied while we read is read
  // again; a process that fills rings faster than we read them leaves its blocks.
  for (int attempt = 0; attempt < 8; ++attempt) {
    const std::uint64_t word = read_word(file, segment.offset);
    std::uint64_t used = word & 0xffffffffU;
    ring.epoch = static_cast<std::uint32_t>(word >> 32U);
    if (used > capacity) {
      image.damage.push_back("the ring of thread " + std::to_string(ring.thread) +
                             " says that it holds more than its size");
      used = capacity;
    }
    ring.records.resize(used);
    ring.records.resize(file.read(segment.offset + kBeforeRecords, ring.records));
    read_marks(file, segment, ring);
    if (read_word(file, segment.offset) >> 32U != ring.epoch) continue;
    if (ring.records.size() < used) {
      image.damage.push_back("the last calls of thread " + std::to_string(ring.thread) +
                             " were cut off: " + std::to_string(used - ring.records.size()) +
                             " bytes");
    }
    return ring;
  }
  ring.records.clear();
  image.damage.push_back("the ring of thread " + std::to_string(ring.thread) +
                         " was overwritten while it was read");
  return ring;
}

// The blocks' bytes in the file, as far as it goes.
std::pair<std::uint64_t, std::uint64_t> block_area(const InputFile& file, const Segment& segment,
                                                   BufferImage& image) {
  std::uint64_t used = read_word(file, segment.offset);
  if (used > segment.bytes - kRingHeadBytes) {
    image.damage.emplace_back("a segment says that it holds more than its size");
    used = segment.bytes - kRingHeadBytes;
  }
  const std::uint64_t begin = segment.offset + kRingHeadBytes;
  if (begin + used > file.size()) {
    image.damage.push_back(std::to_string(begin + used - file.size()) +
                           " bytes were cut off at the end");
  }
  return {begin, std::min(begin + used, file.size())};
}

// A process of that number exists here.
bool may_run(std::uint32_t pid) {
  return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno != ESRCH;
}

void read_blocks(const InputFile& file, const std::vector<Segment>& table, BufferImage& image) {
  constexpr std::uint64_t kSpilledOffset = 80;
  if (!may_run(image.pid)) {
    for (const Segment& segment : table) {
      image.block_areas.push_back(block_area(file, segment, image));
    }
    image.spilled = read_word(file, kSpilledOffset);
    return;
  }
  // All segments but the first are emptied when their blocks have been spilled. A process that
  // spills faster than we read them leaves its blocks in the spill file.
  const std::size_t damage = image.damage.size();
  std::uint64_t before = read_word(file, kSpilledOffset);
  for (int attempt = 0; attempt < 8; ++attempt) {
    image.damage.resize(damage);
    image.block_areas.clear();
    image.copied_blocks.clear();
    for (const Segment& segment : table) {
      const auto [begin, end] = block_area(file, segment, image);
      if (image.block_areas.empty()) {
        image.block_areas.emplace_back(begin, end);
        continue;
      }
      std::vector<std::byte>& copy = image.copied_blocks.emplace_back(end - begin);
      copy.resize(file.read(begin, copy));
    }
    image.spilled = read_word(file, kSpilledOffset);
    if (image.spilled == before) return;
    before = image.spilled;
  }
}

std::uint64_t rate_of(const BufferImage& buffer, std::uint64_t ticks_per_second) {
  constexpr std::uint64_t kOne = std::uint64_t{1} << kRateShift;
  if (buffer.last_ticks > buffer.first_ticks &&
      buffer.last_realtime_ns > buffer.first_realtime_ns) {
    const auto ns =
        static_cast<unsigned __int128>(buffer.last_realtime_ns - buffer.first_realtime_ns);
    return static_cast<std::uint64_t>((ns << kRateShift) /
                                      (buffer.last_ticks - buffer.first_ticks));
  }
  if (ticks_per_second == 0) return kOne;
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(1'000'000'000U) << kRateShift) /
                                    ticks_per_second);
}

}  // namespace

std::string spill_path(const std::string& buffer_path) {
  return buffer_path.substr(0, buffer_path.rfind('.')) + kSpillSuffix;
}

bool is_buffer(const InputFile& file) {
  std::array<std::byte, 8> magic{};
  return file.read(0, magic) == magic.size() &&
         std::memcmp(magic.data(), kBufferMagic, magic.size()) == 0;
}

Result<BufferImage> read_buffer(const InputFile& file) {
  std::vector<std::byte> head(kBufferHeadBytes);
  if (!is_buffer(file)) return Error{file.path(), "not a process buffer of iotune"};
  if (file.read(0, head) != head.size()) {
    return Error{file.path(), "shorter than the header of a process buffer"};
  }
  BufferImage image;
  patterns::ByteReader reader(std::span<const std::byte>(head).subspan(8));
  const std::uint32_t version = reader.u32le();
  if (version < kOldestReadVersion || version > kFormatVersion) {
    return Error{file.path(), "format version " + std::to_string(version) + ", this iotune reads " +
                                  std::to_string(kOldestReadVersion) + " to " +
                                  std::to_string(kFormatVersion)};
  }
  reader.u32le();
  image.pid = reader.u32le();
  image.state = reader.u32le();
  image.first_ticks = reader.u64le();
  image.first_realtime_ns = reader.u64le();
  image.last_ticks = reader.u64le();
  image.last_realtime_ns = reader.u64le();
  image.dropped = reader.u64le();
  const std::uint32_t segments = reader.u32le();
  if (segments > kMaxBufferSegments) image.damage.push_back("too many segments in the header");

  std::vector<Segment> table;
  patterns::ByteReader entries(std::span<const std::byte>(head).subspan(kSegmentTableOffset));
  for (std::uint32_t i = 0; i < std::min(segments, kMaxBufferSegments); ++i) {
    Segment segment{};
    segment.kind = entries.u32le();
    segment.thread = entries.u32le();
    segment.offset = entries.u64le();
    segment.bytes = entries.u64le();
    const bool known = segment.kind == static_cast<std::uint32_t>(SegmentKind::kBlocks) ||
                       segment.kind == static_cast<std::uint32_t>(SegmentKind::kRing);
    // What lies behind the end was cut off: of blocks the rest is read.
    if (!known || segment.bytes < kRingHeadBytes || segment.offset % kBlockAlignment != 0 ||
        segment.offset < kBufferHeadBytes || segment.offset + kRingHeadBytes > file.size() ||
        segment.offset + segment.bytes < segment.offset) {
      image.damage.push_back("segment " + std::to_string(i) + " is damaged or cut off");
      continue;
    }
    table.push_back(segment);
  }
  for (const Segment& segment : table) {
    if (segment.kind != static_cast<std::uint32_t>(SegmentKind::kRing)) continue;
    if (segment.bytes > kMaxRingBytes || segment.bytes < kBeforeRecords) {
      image.damage.push_back("a ring of an impossible size");
      continue;
    }
    RingImage ring = read_ring(file, segment, image);
    if (!ring.records.empty()) image.rings.push_back(std::move(ring));
  }
  std::erase_if(table, [](const Segment& segment) {
    return segment.kind != static_cast<std::uint32_t>(SegmentKind::kBlocks);
  });
  read_blocks(file, table, image);
  return image;
}

EncodedRing encode_ring_image(const BufferImage& buffer, const RingImage& ring,
                              std::uint64_t ticks_per_second) {
  EncodedRing encoded;
  std::vector<std::uint64_t> scratch(scratch_bytes_needed(ring.records.size()) / 8 + 1);
  encoded.events.resize(events_bytes_at_most(ring.records.size()));
  std::uint64_t calls = 0;
  EventsRequest request;
  request.records = ring.records;
  request.first_ticks = buffer.first_ticks;
  request.rate_mult = rate_of(buffer, ticks_per_second);
  request.rate_shift = kRateShift;
  request.thread = ring.thread;
  request.epoch = ring.epoch;
  request.every_time_exact = true;
  request.calls = &calls;
  request.whole_bytes = &encoded.whole_bytes;
  request.scratch = std::as_writable_bytes(std::span(scratch));
  patterns::ByteWriter events(encoded.events);
  encoded.events.resize(encode_events(request, events) ? events.bytes_used() : 0);
  if (encoded.events.empty()) return encoded;
  encoded.marks.resize(kMostMarksBytes);
  patterns::ByteWriter marks(encoded.marks);
  const bool any = encode_marks(request, ring.marks, ring.bin_shift, calls, marks);
  encoded.marks.resize(any ? marks.bytes_used() : 0);
  return encoded;
}

}  // namespace iotune::recorder
