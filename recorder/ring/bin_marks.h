// Which calls of a ring are the first to have ended in a bin of the process's time (time_marks.h).
// A thread uses those of its own ring alone.
#pragma once

#include <cstdint>

#include "recorder/ring/time_marks.h"

namespace iotune::recorder {

// Zeroed memory is one that keeps no marks.
class BinMarks {
 public:
  // From now on marks are kept there. `first_ticks`: the process's first stamp.
  void place_at(RingMarks* marks, std::uint64_t first_ticks) noexcept {
    marks_ = marks;
    first_ticks_ = first_ticks;
    emptied();
  }
  // The ring was emptied: its next call is the first of its bin there.
  void emptied() noexcept { next_ticks_ = marks_ == nullptr ? UINT64_MAX : 0; }

  // The least end of a call that is to be marked.
  std::uint64_t next_ticks() const noexcept { return next_ticks_; }

  // Before such a call is published: marks it. `ring_word`: of the ring before the call;
  // `of_repeat`: calls that the repeat which is gone on with there has counted, else kWholeRepeat.
  void note(std::uint64_t start_ticks, std::uint64_t end_ticks, std::uint64_t ring_word,
            std::uint64_t of_repeat) noexcept;

 private:
  std::uint64_t next_ticks_ = 0, first_ticks_ = 0;
  RingMarks* marks_ = nullptr;
};

}  // namespace iotune::recorder
