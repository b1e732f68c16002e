#include "recorder/ring/bin_marks.h"

namespace iotune::recorder {
namespace {

// Others read the marks of a ring while its thread writes (store_copy_of).
void publish(std::uint64_t& to, std::uint64_t value) noexcept {
  __atomic_store_n(&to, value, __ATOMIC_RELAXED);
}

void put(TimeMark& to, const TimeMark& mark) noexcept {
  publish(to.start_ticks, mark.start_ticks);
  publish(to.end_ticks, mark.end_ticks);
  publish(to.place, mark.place);
}

// A counter that went back between two cores is no time of centuries.
std::uint64_t since(std::uint64_t stamp, std::uint64_t first) noexcept {
  const std::uint64_t ticks = stamp - first;
  return ticks > UINT64_MAX / 2 ? 0 : ticks;
}

// Of the marks in each bin of the new width the first one stays. A thread that reads them in the
// midst of that finds some twice, and these out of order.
unsigned join_bins(TimeMark* marks, unsigned count, unsigned shift,
                   std::uint64_t first_ticks) noexcept {
  unsigned kept = 0;
  std::uint64_t last_bin = UINT64_MAX;
  for (unsigned i = 0; i < count; ++i) {
    const std::uint64_t bin = since(marks[i].end_ticks, first_ticks) >> shift;
    if (bin == last_bin) continue;
    last_bin = bin;
    if (kept != i) put(marks[kept], marks[i]);
    ++kept;
  }
  return kept;
}

}  // namespace

[[gnu::cold]] void BinMarks::note(std::uint64_t start_ticks, std::uint64_t end_ticks,
                                  std::uint64_t ring_word, std::uint64_t of_repeat) noexcept {
  if (marks_ == nullptr) {
    next_ticks_ = UINT64_MAX;
    return;
  }
  const std::uint64_t epoch = ring_word >> 32, word = marks_->word;
  const bool goes_on = word >> 32 == epoch;
  unsigned count = goes_on ? marks_in(word) : 0;
  const std::uint64_t end = since(end_ticks, first_ticks_);
  unsigned shift = bin_shift_at(end);
  if (goes_on && bin_shift_in(word) > shift) shift = bin_shift_in(word);
  if (goes_on && bin_shift_in(word) < shift) {
    count = join_bins(marks_->mark, count, shift, first_ticks_);
  }
  const std::uint64_t bin = end >> shift;
  next_ticks_ = first_ticks_ + ((bin + 1) << shift);
  const bool is_first =
      count == 0 || since(marks_->mark[count - 1].end_ticks, first_ticks_) >> shift < bin;
  if (is_first && count < kMostMarks) {
    put(marks_->mark[count++],
        {start_ticks, end_ticks, (ring_word & UINT32_MAX) | of_repeat << 32});
  }
  __atomic_store_n(&marks_->word, epoch << 32 | std::uint64_t{shift} << 8 | count,
                   __ATOMIC_RELEASE);
}

}  // namespace iotune::recorder
