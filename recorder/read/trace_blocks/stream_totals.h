// What an EVENTS block says of one of its streams as a whole: enough where the order of its calls
// and their single times do not matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "recorder/order_prediction.h"
#include "recorder/read/call.h"

namespace iotune::recorder {

struct StreamTotals {
  // Its numbers stay empty where they are runs.
  std::unique_ptr<CallStream> stream;
  std::size_t width = 0;  // numbers of one call
  std::uint64_t calls = 0;
  std::uint64_t first_start_ns = 0, last_end_ns = 0;  // after the process's start
  std::uint64_t sum_ns = 0;                           // in the calls
  // Calls, first[width] and stride[width] of each run.
  std::vector<std::int64_t> runs;
};

// Two calls make a run of any sequence: only fewer runs than these say something.
inline std::uint64_t most_runs(std::uint64_t calls) {
  return 2 * calls / 5;
}

// `calls` calls of `width` numbers each, one after the other, as StreamTotals has runs; empty where
// they do not repeat.
std::vector<std::int64_t> runs_of(std::span<const std::int64_t> numbers, std::size_t width,
                                  std::uint64_t calls);

// An EVENTS block whose calls are not taken one by one: its streams, and their order.
struct BatchPatterns {
  std::vector<StreamTotals> streams;
  std::vector<std::vector<std::uint32_t>> turns;  // streams that follow each other cyclically
  // Below the number of streams `what` is a stream, else a turn. All calls of all streams.
  std::vector<OrderPair> order;
};

// Valid as long as the totals are; without its duration.
inline Call first_call(const StreamTotals& totals) {
  const auto& numbers = totals.stream->numbers;
  const auto first = numbers.empty() && !totals.runs.empty()
                         ? std::span(totals.runs).subspan(1, totals.width)
                         : std::span(numbers).first(totals.width);
  return {totals.stream.get(), first, totals.first_start_ns, 0, 0, true};
}

// Whether the totals of a stream say all that is wanted of its calls.
using TotalsSuffice = std::function<bool(const CallStream&)>;

// Calls `take(first, steps, calls)` for the stream's calls in their order: `calls` of them, whose
// numbers grow by `steps` each time. Until it returns false.
template <typename Take>
bool each_stretch(const StreamTotals& totals, Take&& take) {
  const std::size_t width = totals.width;
  if (totals.runs.empty()) {
    const std::vector<std::int64_t> none(width);
    const std::span<const std::int64_t> numbers = totals.stream->numbers, steps = none;
    for (std::uint64_t i = 0; i < totals.calls; ++i) {
      if (!take(numbers.subspan(i * width, width), steps, std::uint64_t{1})) return false;
    }
    return true;
  }
  const std::span<const std::int64_t> runs = totals.runs;
  for (std::size_t at = 0; at < runs.size(); at += 2 * width + 1) {
    const auto calls = static_cast<std::uint64_t>(runs[at]);
    if (!take(runs.subspan(at + 1, width), runs.subspan(at + 1 + width, width), calls)) {
      return false;
    }
  }
  return true;
}

// The numbers of call `k` of such a stretch.
inline void numbers_of_call(std::span<const std::int64_t> first,
                            std::span<const std::int64_t> steps, std::uint64_t k,
                            std::span<std::int64_t> numbers) {
  for (std::size_t d = 0; d < first.size(); ++d) {
    numbers[d] = static_cast<std::int64_t>(static_cast<std::uint64_t>(first[d]) +
                                           k * static_cast<std::uint64_t>(steps[d]));
  }
}

// Calls `take(numbers, calls, step)` for the stream's calls in their order: `calls` of them, of
// which only the number at `place` (-1: none) grows, by `step` each time. Until it returns false.
template <typename Take>
bool each_run(const StreamTotals& totals, int place, Take&& take) {
  std::vector<std::int64_t> numbers(totals.width);
  return each_stretch(totals, [&](auto first, auto steps, std::uint64_t calls) {
    bool others_stay = true;
    for (std::size_t d = 0; d < steps.size(); ++d) {
      others_stay = others_stay && (steps[d] == 0 || static_cast<int>(d) == place);
    }
    if (others_stay || calls == 1) {
      return take(first, calls, place < 0 ? 0 : steps[static_cast<std::size_t>(place)]);
    }
    for (std::uint64_t k = 0; k < calls; ++k) {
      numbers_of_call(first, steps, k, numbers);
      if (!take(std::span<const std::int64_t>(numbers), std::uint64_t{1}, std::int64_t{0})) {
        return false;
      }
    }
    return true;
  });
}

}  // namespace iotune::recorder
