#include "patterns/predict/step_loops.h"

#include <cstring>

namespace iotune::patterns {
namespace {

constexpr std::uint8_t u8(unsigned value) noexcept {
  return static_cast<std::uint8_t>(value);
}

// Whether a loop of so many iterations takes no more room than its iterations one by one. Who
// makes loops asks this, so that equal sequences become equal bytes.
constexpr bool worth(std::uint32_t count, unsigned body_bytes) noexcept {
  return count >= (body_bytes >= 4 ? 2u : 3u);
}

}  // namespace

template <unsigned kBytes, unsigned kTerms>
void StepLoops<kBytes, kTerms>::build(std::uint8_t step, bool is_new) noexcept {
  changed_ = kNowhere;
  while (open_) {
    if (bytes_[open_at_.at] == step) return go_on();
    close();
    reduce();
  }
  push(step);
  if (!is_new) reduce();
}

template <unsigned kBytes, unsigned kTerms>
void StepLoops<kBytes, kTerms>::clear() noexcept {
  used_ = terms_ = 0;
  open_ = false;
  broken_ = kNowhere;
  forget_mark();
  follow_ = Follow::nothing;
}

// What was begun of an iteration becomes terms of its own.
template <unsigned kBytes, unsigned kTerms>
void StepLoops<kBytes, kTerms>::close() noexcept {
  unsigned bytes = 0;
  unsigned terms = 0;
  append_partial(true, bytes, terms);
  while (used_ + bytes > kBytes || terms_ + terms > kTerms) {
    if (terms_ <= 1) {  // the loop alone and its iteration are too much
      return clear();
    }
    drop_oldest();
  }
  append_partial(false, bytes, terms);
  open_ = false;
  broken_ = open_at_.loop[0];
  if (follow_ == Follow::open) follow_ = Follow::nothing;
}

template <unsigned kBytes, unsigned kTerms>
void StepLoops<kBytes, kTerms>::append_partial(bool measure, unsigned& bytes,
                                               unsigned& terms) noexcept {
  const auto add = [&](unsigned from, unsigned to) noexcept {
    if (!measure) return append_terms(from, to);
    bytes += to - from;
    for (unsigned at = from; at < to; at += size_of(at)) ++terms;
  };
  for (unsigned level = 0; level < open_at_.depth; ++level) {
    const unsigned loop = open_at_.loop[level];
    const unsigned body = loop + kHead;
    const unsigned end = loop + bytes_[loop + 1];
    const std::uint32_t done = level == 0 ? 0 : open_at_.done[level];
    if (worth(done, end - body)) {
      if (measure) {
        bytes += end - loop;
        ++terms;
      } else {
        start_[terms_++] = used_;
        std::memcpy(bytes_ + used_, bytes_ + loop, end - loop);
        set_count(used_, done);
        used_ = u8(used_ + end - loop);
      }
    } else {
      for (std::uint32_t i = 0; i < done; ++i) add(body, end);
    }
    add(body, level + 1 < open_at_.depth ? open_at_.loop[level + 1] : open_at_.at);
  }
}

template <unsigned kBytes, unsigned kTerms>
void StepLoops<kBytes, kTerms>::append_terms(unsigned from, unsigned to) noexcept {
  for (unsigned at = from; at < to;) {
    const unsigned size = size_of(at);
    start_[terms_++] = used_;
    std::memcpy(bytes_ + used_, bytes_ + at, size);
    used_ = u8(used_ + size);
    at += size;
  }
}

template <unsigned kBytes, unsigned kTerms>
void StepLoops<kBytes, kTerms>::push(std::uint8_t step) noexcept {
  if (used_ + 1u > kBytes || terms_ + 1u > kTerms) drop_oldest();
  start_[terms_++] = used_;
  bytes_[used_++] = step;
}

// A quarter of the buffer; never the last term.
template <unsigned kBytes, unsigned kTerms>
void StepLoops<kBytes, kTerms>::drop_oldest() noexcept {
  if (terms_ <= 1) return;
  unsigned terms = 1;
  while (terms + 1u < terms_ && start_[terms] < kBytes / 4 && terms < kTerms / 4) ++terms;
  const std::uint8_t bytes = start_[terms];
  used_ = u8(used_ - bytes);
  terms_ = u8(terms_ - terms);
  std::memmove(bytes_, bytes_ + bytes, used_);
  for (unsigned i = 0; i < terms_; ++i) start_[i] = u8(start_[i + terms] - bytes);
  const auto move = [bytes](Place& place) noexcept {
    place.at = u8(place.at - bytes);
    for (unsigned level = 0; level < place.depth; ++level) {
      place.loop[level] = u8(place.loop[level] - bytes);
    }
  };
  if (open_) move(open_at_);
  if (follow_ == Follow::earlier) {
    if (earlier_at_.at < bytes) {
      follow_ = Follow::nothing;
    } else {
      move(earlier_at_);
    }
  }
  if constexpr (kMarks) {
    if (mark_.at != kNowhere) mark_.at = mark_.at < bytes ? kNowhere : u8(mark_.at - bytes);
  }
  if (broken_ != kNowhere) broken_ = broken_ < bytes ? kNowhere : u8(broken_ - bytes);
  if (changed_ != kNowhere) changed_ = changed_ < bytes ? 0 : u8(changed_ - bytes);
}

template <unsigned kBytes, unsigned kTerms>
void StepLoops<kBytes, kTerms>::reduce() noexcept {
  for (unsigned b = 1; b <= kBody && b < terms_; ++b) {
    const unsigned top = start_[terms_ - b];
    const unsigned size = used_ - top;
    if (bytes_[used_ - 1] != bytes_[top - 1]) continue;  // most end here
    const unsigned below = start_[terms_ - b - 1];
    if (bytes_[below] == kLoop && bytes_[below + 1] == kHead + size &&
        std::memcmp(bytes_ + below + kHead, bytes_ + top, size) == 0) {
      add_one(below);
      used_ = u8(top);
      terms_ = u8(terms_ - b);
      return reopen(below);
    }
    const std::uint32_t blocks = worth(2, size) ? 2 : 3;
    if (terms_ < blocks * b) continue;
    const unsigned first = start_[terms_ - blocks * b];
    bool equal = top - first == (blocks - 1) * size;
    for (std::uint32_t i = 1; i < blocks && equal; ++i) {
      equal = start_[terms_ - (i + 1) * b] == top - i * size &&
              std::memcmp(bytes_ + top - i * size, bytes_ + top, size) == 0;
    }
    if (!equal || first + kHead + size > kBytes || depth_of(top, used_) >= kDepth) continue;
    std::memmove(bytes_ + first + kHead, bytes_ + first, size);
    bytes_[first] = kLoop;
    bytes_[first + 1] = u8(kHead + size);
    set_count(first, blocks);
    used_ = u8(first + kHead + size);
    terms_ = u8(terms_ - blocks * b + 1);
    return reopen(first);
  }
}

template <unsigned kBytes, unsigned kTerms>
void StepLoops<kBytes, kTerms>::reopen(unsigned loop) noexcept {
  open_ = true;
  open_at_ = start_of(loop);
  if (loop < changed_) changed_ = u8(loop);
  // What is broken is the loop itself now or has gone.
  if (broken_ != kNowhere && broken_ >= loop) broken_ = kNowhere;
}

template <unsigned kBytes, unsigned kTerms>
unsigned StepLoops<kBytes, kTerms>::depth_of(unsigned from, unsigned to) const noexcept {
  unsigned deepest = 0;
  std::uint8_t ends[kDepth] = {};
  unsigned depth = 0;
  for (unsigned at = from; at < to;) {
    while (depth > 0 && at >= ends[depth - 1]) --depth;
    if (bytes_[at] == kLoop) {
      if (depth == kDepth) return kDepth;
      ends[depth++] = u8(at + bytes_[at + 1]);
      if (depth > deepest) deepest = depth;
      at += kHead;
    } else {
      ++at;
    }
  }
  return deepest;
}

template <unsigned kBytes, unsigned kTerms>
std::uint32_t StepLoops<kBytes, kTerms>::steps_used() const noexcept {
  std::uint32_t used = 0;
  for (unsigned at = 0; at < used_;) {
    if (bytes_[at] == kLoop) {
      at += kHead;
    } else {
      used |= 1u << bytes_[at++];
    }
  }
  return used;
}

template <unsigned kBytes, unsigned kTerms>
std::uint8_t StepLoops<kBytes, kTerms>::usual() const noexcept {
  std::uint8_t times[StepTable::kSteps] = {};
  std::uint8_t best = kNoStep;
  for (unsigned at = 0; at < used_;) {
    if (bytes_[at] == kLoop) {
      at += kHead;
    } else {
      const std::uint8_t step = bytes_[at++];
      if (++times[step] >= 2 && (best == kNoStep || times[step] >= times[best])) best = step;
    }
  }
  return best;
}

// What comes next: the open loop's next step, or what came after the like of this in the past.

template <unsigned kBytes, unsigned kTerms>
typename StepLoops<kBytes, kTerms>::Place StepLoops<kBytes, kTerms>::start_of(
    unsigned at) const noexcept {
  Place place;
  place.at = static_cast<std::uint8_t>(at);
  place.depth = 0;
  enter(place);
  return place;
}

template <unsigned kBytes, unsigned kTerms>
std::uint8_t StepLoops<kBytes, kTerms>::first_of_open() const noexcept {
  return open_ ? bytes_[start_of(open_at_.loop[0]).at] : kNoStep;
}

template <unsigned kBytes, unsigned kTerms>
void StepLoops<kBytes, kTerms>::feed_other(std::uint8_t step, bool is_new) noexcept {
  const bool earlier = follow_ == Follow::earlier;
  const bool repeated = earlier && bytes_[earlier_at_.at] == step;
  const bool goes_on = open_ && bytes_[open_at_.at] == step;
  if (earlier && open_ && repeated != goes_on) {
    constexpr int kMost = 2;
    if (repeated && trust_ < kMost) ++trust_;
    if (goes_on && trust_ > -kMost) --trust_;
  }
  if (earlier && !repeated) follow_ = Follow::nothing;
  build(step, is_new);
  if constexpr (kMarks) {
    if (mark_.at >= changed_) mark_.at = kNowhere;
  }
  if (follow_ == Follow::earlier) {
    if (earlier_at_.at >= changed_) {
      follow_ = Follow::nothing;
    } else {
      advance(earlier_at_, false);
      const unsigned end = open_ ? open_at_.loop[0] : used_;
      if (earlier_at_.at >= end) follow_ = Follow::nothing;
    }
  }
  if (follow_ == Follow::nothing) search(step, is_new);
}

template <unsigned kBytes, unsigned kTerms>
void StepLoops<kBytes, kTerms>::search(std::uint8_t step, bool is_new) noexcept {
  if (open_) {
    follow_ = Follow::open;
  } else if (is_new) {
    if (broken_ == kNowhere) return;
    earlier_at_ = start_of(broken_);
    follow_ = Follow::earlier;
    broken_ = kNowhere;  // the next surprise says that it was no border
  } else if (search_terms(step) || search_loops(step)) {
    follow_ = Follow::earlier;
  }
}

template <unsigned kBytes, unsigned kTerms>
bool StepLoops<kBytes, kTerms>::equal_terms(unsigned a, unsigned b) const noexcept {
  const unsigned size = size_of(start_[a]);
  return size == size_of(start_[b]) &&
         std::memcmp(bytes_ + start_[a], bytes_ + start_[b], size) == 0;
}

// The last term is `step`. Follows the earlier term of its kind before which most is the same as
// before this one.
template <unsigned kBytes, unsigned kTerms>
bool StepLoops<kBytes, kTerms>::search_terms(std::uint8_t step) noexcept {
  constexpr unsigned kContext = 8;
  const unsigned last = terms_ - 1u;
  unsigned best = last;
  unsigned best_context = 0;
  for (unsigned term = last; term-- > 0;) {
    if (bytes_[start_[term]] != step) continue;
    unsigned context = 1;
    while (context <= kContext && context <= term && equal_terms(term - context, last - context)) {
      ++context;
    }
    if (context <= best_context) continue;
    best = term;
    best_context = context;
    if (context > kContext) break;
  }
  if (best == last) return false;
  earlier_at_ = start_of(start_[best + 1]);
  return true;
}

// The last place in a loop where the step is.
template <unsigned kBytes, unsigned kTerms>
bool StepLoops<kBytes, kTerms>::search_loops(std::uint8_t step) noexcept {
  for (unsigned term = terms_; term-- > 0;) {
    const unsigned loop = start_[term];
    if (bytes_[loop] != kLoop) continue;
    const unsigned end = loop + bytes_[loop + 1];
    for (unsigned at = loop; at < end;) {
      if (bytes_[at] == kLoop) {
        at += kHead;
      } else if (bytes_[at] == step) {
        earlier_at_ = place_of(loop, at);
        advance(earlier_at_, false);
        return earlier_at_.at < used_;
      } else {
        ++at;
      }
    }
  }
  return false;
}

// The step at `at` in the first iteration of all loops around it.
template <unsigned kBytes, unsigned kTerms>
typename StepLoops<kBytes, kTerms>::Place StepLoops<kBytes, kTerms>::place_of(
    unsigned term, unsigned at) const noexcept {
  Place place;
  place.at = static_cast<std::uint8_t>(at);
  place.depth = 0;
  for (unsigned next = term; next != at;) {
    const unsigned end = next + size_of(next);
    if (at >= end) {
      next = end;
      continue;
    }
    place.loop[place.depth] = static_cast<std::uint8_t>(next);
    place.done[place.depth++] = 0;
    next += kHead;
  }
  return place;
}

template <unsigned kBytes, unsigned kTerms>
void StepLoops<kBytes, kTerms>::mark() noexcept {
  forget_mark();
  if (expected() == kNoStep) return;
  const bool open = follow_ == Follow::open || (open_ && trust_ < 0);
  Place place = open ? open_at_ : earlier_at_;
  advance(place, open);
  if (place.depth > 1) return;
  keep_mark(place);
}

template <unsigned kBytes, unsigned kTerms>
std::uint8_t StepLoops<kBytes, kTerms>::marked_step() const noexcept {
  return marked_at() == kNowhere ? kNoStep : bytes_[marked_at()];
}

template <unsigned kBytes, unsigned kTerms>
void StepLoops<kBytes, kTerms>::move_mark() noexcept {
  Place place = marked_place();
  advance(place, false);
  keep_mark(place);
}

template <unsigned kBytes, unsigned kTerms>
void StepLoops<kBytes, kTerms>::follow_mark() noexcept {
  if (marked_at() == kNowhere) return;
  Place place = marked_place();
  forget_mark();
  advance(place, false);
  if (place.at >= (open_ ? open_at_.loop[0] : used_)) return;
  earlier_at_ = place;
  follow_ = Follow::earlier;
  trust_ = 0;
}

template <unsigned kBytes, unsigned kTerms>
void StepLoops<kBytes, kTerms>::keep_mark(const Place& place) noexcept {
  if constexpr (kMarks) {
    mark_.at = place.at < used_ ? place.at : kNowhere;
    mark_.done = place.depth == 0 ? std::uint16_t{0} : place.done[place.depth - 1];
  }
}

template <unsigned kBytes, unsigned kTerms>
typename StepLoops<kBytes, kTerms>::Place StepLoops<kBytes, kTerms>::marked_place() const noexcept {
  unsigned term = terms_ - 1u;
  while (start_[term] > marked_at()) --term;
  Place place = place_of(start_[term], marked_at());
  if constexpr (kMarks) {
    if (place.depth > 0) place.done[place.depth - 1] = mark_.done;
  }
  return place;
}

template <unsigned kBytes, unsigned kTerms>
StepLoops<kBytes, kTerms>::Walk::Walk(const StepLoops& loops) noexcept : loops_(loops) {
  known_ = loops.expected() != kNoStep;
  if (!known_) return;
  endless_ = loops.follow_ == Follow::open || (loops.open_ && loops.trust_ < 0);
  place_ = endless_ ? loops.open_at_ : loops.earlier_at_;
  home_ = place_.depth > 0 ? place_.loop[0] : place_.at;
  // Where what is followed is between two loops, what is open repeats the whole loop before it.
  limit_ = loops.open_ && place_.depth > 0 ? loops.open_at_.loop[0] : loops.used_;
}

template <unsigned kBytes, unsigned kTerms>
std::uint8_t StepLoops<kBytes, kTerms>::Walk::next() noexcept {
  if (!known_) return kNoStep;
  const std::uint8_t step = loops_.bytes_[place_.at];
  loops_.advance(place_, endless_);
  // What follows the past is the present, which repeats what it follows.
  if (!endless_ && place_.at >= limit_) place_ = loops_.start_of(home_);
  return step;
}

template class StepLoops<kOneLaneBytes, kOneLaneTerms>;
template class StepLoops<kLaneBytes, kLaneTerms>;
template class StepLoops<kOrderBytes, kOrderTerms>;

}  // namespace iotune::patterns
