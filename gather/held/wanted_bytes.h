// Bytes of a range of the file, looked for in writes from the latest one back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "gather/held/pieces.h"

namespace iotune::gather {

class WantedBytes {
 public:
  // `to` has room for all of them.
  WantedBytes(std::int64_t offset, std::int64_t bytes, std::byte* to) noexcept
      : offset_(offset), to_(to) {
    gaps_[0] = {offset, offset + bytes};
  }

  bool found_all() const noexcept { return used_ == 0; }
  // Copies what the run has of those that no later one had. False: that cannot be found out.
  bool look_in(const Run& run, const std::byte* memory) noexcept {
    if (run.count > 1 && run.stride < run.bytes) {
      const std::int64_t last = run.offset + (run.count - 1) * run.stride;
      return !touches(std::min(run.offset, last), std::max(run.offset, last) + run.bytes);
    }
    for (int gap = 0; gap < used_;) {
      const std::int64_t begin = gaps_[gap].begin, end = gaps_[gap].end;
      const std::int64_t behind = begin - run.offset - run.bytes;
      const std::int64_t piece = behind < 0 ? 0 : run.count == 1 ? 1 : behind / run.stride + 1;
      const std::int64_t at = run.offset + piece * run.stride;
      if (piece >= run.count || at >= end) {
        ++gap;
        continue;
      }
      const std::int64_t from = std::max(begin, at), until = std::min(end, at + run.bytes);
      std::memcpy(to_ + (from - offset_),
                  memory + run.at + static_cast<std::size_t>(piece * run.bytes + from - at),
                  static_cast<std::size_t>(until - from));
      const bool left = begin < from, right = until < end;
      if (left) gaps_[gap++] = {begin, from};
      if (left && right) {
        if (used_ == kMostGaps) return false;
        for (int i = used_++; i > gap; --i) gaps_[i] = gaps_[i - 1];
      }
      if (right) {
        gaps_[gap] = {until, end};
      } else if (!left) {
        gaps_[gap] = gaps_[--used_];
      }
    }
    return true;
  }

 private:
  struct Gap {
    std::int64_t begin, end;
  };

  bool touches(std::int64_t begin, std::int64_t end) const noexcept {
    return std::any_of(gaps_, gaps_ + used_,
                       [&](const Gap& gap) { return gap.begin < end && begin < gap.end; });
  }

  static constexpr int kMostGaps = 32;
  const std::int64_t offset_;
  std::byte* const to_;
  Gap gaps_[kMostGaps];
  int used_ = 1;
};

}  // namespace iotune::gather
