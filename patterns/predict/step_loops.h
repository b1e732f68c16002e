// A sequence of steps as nested loops, in a buffer of fixed size: what is written down of the past,
// where in it the present is, and so what comes next. Internal to patterns/predict; README.md there
// explains the algorithm.
//
// A term is a step (its byte) or a loop: kLoop, the term's bytes, the count in two bytes, the
// body's terms. Equal sequences are equal bytes. A count stays at the most that fits: the end of a
// longer loop is not foreseen.
#pragma once

#include <cstdint>
#include <type_traits>

#include "patterns/predict/step_table.h"

namespace iotune::patterns {

// Of a stream that is one sequence; of one of several that take turns; of the turns themselves.
inline constexpr unsigned kOneLaneBytes = 155, kOneLaneTerms = 44;
inline constexpr unsigned kLaneBytes = 43, kLaneTerms = 15;
inline constexpr unsigned kOrderBytes = 32, kOrderTerms = 16;

template <unsigned kBytes, unsigned kTerms>
class StepLoops {
 public:
  // Appends a step. One that is new, in no term of the buffer, may be the border between two runs
  // of what went before: that is then followed again from its beginning.
  void feed(std::uint8_t step, bool is_new) noexcept {
    if (follow_ == Follow::open && bytes_[open_at_.at] == step) return go_on();
    feed_other(step, is_new);
  }

  // The step that comes next, or kNoStep.
  std::uint8_t expected() const noexcept {
    if (follow_ == Follow::open || (follow_ == Follow::earlier && open_ && trust_ < 0)) {
      return bytes_[open_at_.at];
    }
    return follow_ == Follow::earlier ? bytes_[earlier_at_.at] : kNoStep;
  }

  // The step that was made most often, twice at least, or kNoStep.
  std::uint8_t usual() const noexcept;

  // The step that an open loop begins with, or kNoStep.
  std::uint8_t first_of_open() const noexcept;

  // Where the past would go on behind the step that is expected: kept for who sees that it did not
  // come, but that what follows lies where it would have lain all the same. feed() may lose it.
  static constexpr bool kMarks = kTerms > 40;
  void mark() noexcept;
  std::uint8_t marked_step() const noexcept;  // or kNoStep
  void move_mark() noexcept;                  // behind that step
  void follow_mark() noexcept;                // what comes behind that step is expected now

  void clear() noexcept;

  // Which steps the buffer names, a bit each.
  std::uint32_t steps_used() const noexcept;
  void drop_oldest() noexcept;

 private:
  static constexpr unsigned kBody = kTerms / 2, kDepth = kTerms > 40 ? 6 : 4, kHead = 4;
  static constexpr std::uint8_t kLoop = 0xfe, kNowhere = 0xff;
  static constexpr std::uint32_t kMaxCount = 0xffff;
  static_assert(StepTable::kSteps <= 32 && kBytes < kLoop);

  // A step in the buffer, and the iteration of each loop around it.
  struct Place {
    std::uint8_t at, depth;
    std::uint8_t loop[kDepth];  // where each begins, outermost first
    std::uint16_t done[kDepth];
  };

  // The same in three bytes: of the outer loops' iterations it is the first.
  struct Mark {
    std::uint8_t at = kNowhere;
    std::uint16_t done = 0;  // of the innermost loop
  };
  struct NoMark {};

 public:
  // Goes through the steps to come without changing anything.
  class Walk {
   public:
    explicit Walk(const StepLoops& loops) noexcept;
    std::uint8_t next() noexcept;  // or kNoStep

   private:
    const StepLoops& loops_;
    Place place_;
    std::uint8_t home_ = 0, limit_ = 0;
    bool endless_ = false, known_ = false;
  };

 private:
  enum class Follow : std::uint8_t { nothing, open, earlier };

  unsigned size_of(unsigned at) const noexcept { return bytes_[at] == kLoop ? bytes_[at + 1] : 1; }
  std::uint32_t count_of(unsigned loop) const noexcept {
    return static_cast<std::uint32_t>(bytes_[loop + 2] | bytes_[loop + 3] << 8u);
  }
  void set_count(unsigned loop, std::uint32_t count) noexcept {
    bytes_[loop + 2] = static_cast<std::uint8_t>(count);
    bytes_[loop + 3] = static_cast<std::uint8_t>(count >> 8u);
  }
  void add_one(unsigned loop) noexcept {
    const std::uint32_t count = count_of(loop);
    if (count < kMaxCount) set_count(loop, count + 1);
  }

  void enter(Place& place) const noexcept {
    while (place.at < used_ && bytes_[place.at] == kLoop) {
      place.loop[place.depth] = place.at;
      place.done[place.depth++] = 0;
      place.at = static_cast<std::uint8_t>(place.at + kHead);
    }
  }
  // True where an endless outermost loop begins again.
  bool advance(Place& place, bool endless) const noexcept {
    bool again = false;
    ++place.at;
    while (place.depth > 0) {
      const unsigned loop = place.loop[place.depth - 1];
      if (place.at != loop + bytes_[loop + 1]) break;
      again = endless && place.depth == 1;
      if (again || ++place.done[place.depth - 1] < count_of(loop)) {
        place.at = static_cast<std::uint8_t>(loop + kHead);
        break;
      }
      --place.depth;
    }
    if (bytes_[place.at] == kLoop) enter(place);
    return again;
  }
  void go_on() noexcept {
    if (advance(open_at_, true)) add_one(open_at_.loop[0]);
  }
  Place start_of(unsigned at) const noexcept;
  Place place_of(unsigned term, unsigned at) const noexcept;
  std::uint8_t marked_at() const noexcept {
    if constexpr (kMarks) return mark_.at;
    return kNowhere;
  }
  void forget_mark() noexcept {
    if constexpr (kMarks) mark_.at = kNowhere;
  }
  Place marked_place() const noexcept;
  void keep_mark(const Place& place) noexcept;

  void feed_other(std::uint8_t step, bool is_new) noexcept;
  void build(std::uint8_t step, bool is_new) noexcept;
  void close() noexcept;
  void append_partial(bool measure, unsigned& bytes, unsigned& terms) noexcept;
  void append_terms(unsigned from, unsigned to) noexcept;
  void push(std::uint8_t step) noexcept;
  void reduce() noexcept;
  void reopen(unsigned loop) noexcept;
  unsigned depth_of(unsigned from, unsigned to) const noexcept;
  bool equal_terms(unsigned a, unsigned b) const noexcept;
  void search(std::uint8_t step, bool is_new) noexcept;
  bool search_terms(std::uint8_t step) noexcept;
  bool search_loops(std::uint8_t step) noexcept;

  Place open_at_ = {};     // the step that the open loop comes to next; if open_
  Place earlier_at_ = {};  // the same in what is repeated; if follow_ == earlier
  std::uint8_t bytes_[kBytes + 1] = {};
  std::uint8_t start_[kTerms] = {};  // of each outermost term
  std::uint8_t used_ = 0, terms_ = 0;
  [[no_unique_address]] std::conditional_t<kMarks, Mark, NoMark> mark_;
  std::uint8_t broken_ = kNowhere;   // the loop that was closed last
  std::uint8_t changed_ = kNowhere;  // from here on the last build() wrote anew
  bool open_ = false;                // the last term is a loop that may go on
  Follow follow_ = Follow::nothing;
  std::int8_t trust_ = 0;  // in what was done earlier, against the open loop, where they differ
};

extern template class StepLoops<kOneLaneBytes, kOneLaneTerms>;
extern template class StepLoops<kLaneBytes, kLaneTerms>;
extern template class StepLoops<kOrderBytes, kOrderTerms>;

}  // namespace iotune::patterns
