// Times of calls out of the marks of their batch (FORMAT.md, "MARKS").
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "recorder/read/call.h"

namespace iotune::recorder {

// The first call of a batch that ended in its bin. Times: after the process's start.
struct BinMark {
  std::uint64_t call;         // of the batch
  std::uint64_t bin_last_ns;  // the last nanosecond of the bin
  std::uint64_t end_ns;       // less at most 1/256 of the bin
  std::uint64_t duration_ns;
};

// Which batch a MARKS payload is about.
struct MarksHead {
  std::uint64_t thread, epoch, calls;
};
std::optional<MarksHead> read_marks_head(std::span<const std::byte> payload);

// In the order of their calls; empty on damage.
std::vector<BinMark> decode_marks(std::span<const std::byte> payload);

// What is known of the calls of a stream whose own times are not.
struct InexactCalls {
  std::uint64_t calls, sum_ns, least_ns, largest_ns;
  std::uint64_t last_end_ns;  // of all calls of the stream
};

// Gives each inexact call from the first mark on an end within its bin, evenly between what is
// known, and `in_bin`. `calls`: of the batch, with the times that they have without marks; `order`:
// the stream of each; `least_start_ns`: of all of them.
void place_in_bins(std::span<const BinMark> marks, std::span<const std::uint32_t> order,
                   std::span<const InexactCalls> streams, std::uint64_t least_start_ns,
                   std::span<Call> calls);

}  // namespace iotune::recorder
