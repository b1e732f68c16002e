// A process buffer (*.iobuf) of a dead or a running process.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "recorder/read/result.h"
#include "recorder/read/trace_blocks/input_file.h"
#include "recorder/ring/time_marks.h"

namespace iotune::recorder {

// The calls that were not encoded when the buffer was read.
struct RingImage {
  std::uint32_t thread = 0;
  std::uint32_t epoch = 0;
  std::vector<std::byte> records;
  std::vector<TimeMark> marks;
  unsigned bin_shift = 0;
};

struct BufferImage {
  std::uint32_t pid = 0;
  std::uint32_t state = 0;  // 0 running or killed, 1 ended, 2 joined
  std::uint64_t first_ticks = 0, first_realtime_ns = 0, last_ticks = 0, last_realtime_ns = 0;
  std::uint64_t dropped = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> block_areas;  // [begin, end) in the file
  // Blocks of a running process, which may reuse their memory while we read: copies.
  std::vector<std::vector<std::byte>> copied_blocks;
  std::uint64_t spilled = 0;  // bytes of the spill file that count
  std::vector<RingImage> rings;
  std::vector<std::string> damage;
};

bool is_buffer(const InputFile& file);

// Where the blocks are that left the buffer's memory; there need be nothing.
std::string spill_path(const std::string& buffer_path);

// The rings are read before the blocks, and these before the spill file's end: a batch that is on
// its way meanwhile is seen twice, which its epoch tells, and never not at all.
Result<BufferImage> read_buffer(const InputFile& file);

// The ring's calls as the payload of an EVENTS block, every time exact, and its marks as that of a
// MARKS block. Empty where it has no whole record, or no mark. `ticks_per_second` is used where the
// buffer was never calibrated; 0: unknown. `whole_bytes`: how far the ring's records are whole.
struct EncodedRing {
  std::vector<std::byte> events, marks;
  std::size_t whole_bytes = 0;
};
EncodedRing encode_ring_image(const BufferImage& buffer, const RingImage& ring,
                              std::uint64_t ticks_per_second);

}  // namespace iotune::recorder
