#include "logstore/write/time_line.h"

namespace iotune::logstore {
namespace {

__extension__ using Wide = __int128;

// A line is no longer than this, so that no product below overflows.
constexpr std::int64_t kMostPassed = std::int64_t{1} << 42;  // ns, 73 minutes
constexpr std::int64_t kMostEntries = std::int64_t{1} << 20;

}  // namespace

bool TimeLine::less(const Slope& a, const Slope& b) noexcept {
  return Wide{a.passed} * b.entries < Wide{b.passed} * a.entries;
}

// Keeps of the slopes those that pass between `from` and `to` (ns after the anchor) at the latest
// entry. False, and nothing changed, where no slope is left with a whole number of ns there.
bool TimeLine::narrow(std::int64_t from, std::int64_t to) noexcept {
  const std::int64_t steps = entries_ - 1 - anchor_.position;
  if (steps > kMostEntries || to > kMostPassed) return false;
  Slope least{from, steps};
  Slope most{to, steps};
  if (steps > 1) {
    if (less(least, least_)) least = least_;
    if (less(most_, most)) most = most_;
    // The latest entry's time is an integer: one lies between two numbers that are 1 apart.
    const Wide apart = Wide{most.passed} * least.entries - Wide{least.passed} * most.entries;
    if (apart < 0 || apart * steps < Wide{most.entries} * least.entries) return false;
  }
  least_ = least;
  most_ = most;
  return true;
}

void TimeLine::end_line(std::int64_t position) noexcept {
  const std::int64_t steps = position - anchor_.position;
  if (steps <= 0) return;
  const std::int64_t from = (least_.passed * steps + least_.entries - 1) / least_.entries;
  const std::int64_t to = most_.passed * steps / most_.entries;
  anchor_ = {position, anchor_.time + from + (to - from) / 2};
  knots_[count_++] = anchor_;
}

void TimeLine::add(std::int64_t begin, std::int64_t end) noexcept {
  const bool first = entries_ == 0;
  if (!first && begin < clock_) begin = clock_;
  if (end < begin) end = begin;
  const std::int64_t from = begin + (end > begin ? 1 : 0);
  clock_ = end;
  const std::int64_t position = entries_++;
  if (first) {
    anchor_ = {position, from + (end - from) / 2};
    knots_[count_++] = anchor_;
    return;
  }
  if (narrow(from - anchor_.time, end - anchor_.time)) return;
  end_line(position - 1);
  if (narrow(from - anchor_.time, end - anchor_.time)) return;
  // Longer after the one before than a line may be: a step by itself.
  least_ = most_ = {0, 1};
  anchor_ = {position, end};
  knots_[count_++] = anchor_;
}

void TimeLine::settle() noexcept {
  end_line(entries_ - 1);
}

}  // namespace iotune::logstore
