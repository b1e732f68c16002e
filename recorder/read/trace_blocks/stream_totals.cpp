#include "recorder/read/trace_blocks/stream_totals.h"

#include <algorithm>

#include "recorder/ring_record.h"
#include "recorder/stream_values.h"

namespace iotune::recorder {
namespace {

constexpr std::uint64_t kCallsBetween = 256;

}  // namespace

std::vector<std::int64_t> runs_of(std::span<const std::int64_t> numbers, std::size_t width,
                                  std::uint64_t calls) {
  if (width == 0 || width > kMostRepeatedWords || calls < 4) return {};
  const std::size_t words = 2 * width + 1;
  std::vector<std::int64_t> runs;
  const std::vector<std::int64_t> none(width);
  // Before each piece there is room for as many runs as it can have, and what does not repeat is
  // left after the first.
  std::size_t made = 0;
  for (std::uint64_t at = 0; at < calls;) {
    const std::uint64_t end = std::min(calls, at + kCallsBetween);
    runs.resize((made + (end - at)) * words);
    RunBuilder builder(runs.data(), static_cast<unsigned>(width), made);
    for (; at < end; ++at) builder.add(numbers.data() + at * width, none.data(), 1);
    made = builder.runs();
    if (made > most_runs(end)) return {};
  }
  runs.resize(made * words);
  return runs;
}

}  // namespace iotune::recorder
