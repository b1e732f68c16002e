#include "recorder/stream_values.h"

#include <cstring>

#include "recorder/ring_record.h"

namespace iotune::recorder {
namespace {

std::uint64_t word(std::int64_t value) noexcept {
  return static_cast<std::uint64_t>(value);
}

}  // namespace

// The newest run, of one call, goes on with any: it has no stride yet.
bool RunBuilder::goes_on(const std::int64_t* first) const noexcept {
  const std::int64_t* const newest = run(count_ - 1);
  for (unsigned i = 0; i < numbers_; ++i) {
    const std::uint64_t next =
        word(newest[1 + i]) + word(newest[0]) * word(newest[1 + numbers_ + i]);
    if (word(first[i]) != next) return false;
  }
  return true;
}

void RunBuilder::add(const std::int64_t* first, const std::int64_t* stride,
                     std::uint64_t calls) noexcept {
  if (count_ > 0) {
    std::int64_t* const newest = run(count_ - 1);
    if (newest[0] == 1) {
      for (unsigned i = 0; i < numbers_; ++i) {
        newest[1 + numbers_ + i] = static_cast<std::int64_t>(word(first[i]) - word(newest[1 + i]));
      }
    }
    const bool same_stride =
        calls == 1 || std::memcmp(newest + 1 + numbers_, stride, std::size_t{8} * numbers_) == 0;
    if (goes_on(first)) {
      // Where the added run turns off at once, only its first call belongs to the newest.
      newest[0] += same_stride ? static_cast<std::int64_t>(calls) : 1;
      if (same_stride) return;
      std::int64_t second[kMostRepeatedWords];
      for (unsigned i = 0; i < numbers_; ++i) {
        second[i] = static_cast<std::int64_t>(word(first[i]) + word(stride[i]));
      }
      std::int64_t* const next = run(count_++);
      next[0] = static_cast<std::int64_t>(calls - 1);
      std::memcpy(next + 1, second, std::size_t{8} * numbers_);
      for (unsigned i = 0; i < numbers_; ++i) next[1 + numbers_ + i] = calls == 2 ? 0 : stride[i];
      return;
    }
  }
  std::int64_t* const next = run(count_++);
  next[0] = static_cast<std::int64_t>(calls);
  std::memcpy(next + 1, first, std::size_t{8} * numbers_);
  for (unsigned i = 0; i < numbers_; ++i) next[1 + numbers_ + i] = calls == 1 ? 0 : stride[i];
}

}  // namespace iotune::recorder
