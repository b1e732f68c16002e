#include "patterns/predict/one_lane.h"

#include <algorithm>

namespace iotune::patterns {
namespace {

constexpr std::uint32_t kLong = 0xffffffff;  // a length that is not kept

// In strides.
constexpr std::uint64_t kFar = 8;

std::uint64_t distance(std::int64_t a, std::int64_t b) noexcept {
  return a < b ? static_cast<std::uint64_t>(minus(b, a)) : static_cast<std::uint64_t>(minus(a, b));
}

// At a constant stride, with one length.
bool goes_on(const Extent& newest, const Extent& before, const Extent& first) noexcept {
  return before.length == newest.length && first.length == newest.length &&
         before.length != kLong &&
         minus(newest.offset, before.offset) == minus(before.offset, first.offset);
}

}  // namespace

bool OneLane::observe(const Extent& access, StepTable& steps, Next& next) noexcept {
  lanes_ = 1;
  if (seen_ == 0) {
    move_to(access);
    guess(next);
    return true;
  }
  if (next.waiting) {
    next.waiting = false;
    if (settle(access, steps, next)) return lanes_ == 1;
  }
  if (next.step != kNoStep && access == next.access) {
    take(access, steps, next);
  } else if (next.step != kNoStep && (streak_ >= kSure || !usual(access, next.access)) &&
             steps.find(last_, access, 0) == kNoStep) {
    hold(access, steps, next);
  } else {
    learn(access, steps, next);
  }
  return lanes_ == 1;
}

// Whether it is as long as what was wanted, or as others that something new began with.
bool OneLane::usual(const Extent& access, const Extent& wanted) const noexcept {
  if (access.length == last_.length || access.length == wanted.length) return true;
  for (unsigned i = 0; i < surprises_; ++i) {
    if (surprise_length_[i] == static_cast<std::uint64_t>(access.length)) return true;
  }
  return false;
}

void OneLane::hold(const Extent& access, const StepTable& steps, Next& next) noexcept {
  next.waiting = true;
  slipped_ = 0;
  streak_ = static_cast<std::uint8_t>(streak_ > kSure ? streak_ - kSure : 0);
  held_[0] = access;
  held_count_ = 1;
  const std::uint8_t first = loops_.first_of_open();
  // At the end of a file the last one is cut: it will not come again.
  const bool cut = access.offset == next.access.offset;
  if ((cut || noise_[usual(access, next.access) ? 1 : 0] < 0) && first != kNoStep) {
    next.access = steps.after(access, first);
  }
}

// True if `access` is dealt with: it shows that what was held back was noise, between two or
// instead of one; or it is held back as well. False if it is yet to be observed.
bool OneLane::settle(const Extent& access, StepTable& steps, Next& next) noexcept {
  constexpr int kMost = 3;
  const Extent wanted = steps.after(last_, next.step);
  const bool is_usual = usual(held_[0], wanted);
  std::int8_t& noise = noise_[is_usual ? 1 : 0];
  typename decltype(loops_)::Walk walk(loops_);
  walk.next();
  const std::uint8_t then = walk.next();
  // Two equal steps are a stride that begins: a sequence of two places of which one falls silent.
  const bool strides =
      held_count_ == 1 && access.length == held_[0].length &&
      minus(access.offset, held_[0].offset) == minus(held_[0].offset, last_.offset);
  // Where the same place comes again and again, what was expected is also what comes after it. A
  // row that begins a known step earlier has it next: noise hardly ever lies so.
  const bool earlier = held_count_ == 1 && held_[0].length == access.length &&
                       !(held_[0] == wanted) && steps.find(held_[0], access, 0) != kNoStep;
  const bool between = access == wanted && !earlier;
  const bool instead =
      !between && then != kNoStep && !strides && access == steps.after(wanted, then);
  if (between || instead) {
    if (noise < kMost) ++noise;
    if (instead) take(wanted, steps, next);
    take(access, steps, next);
    // What comes between again and again, and moves on, is a sequence of its own.
    for (unsigned i = 0; i < held_count_; ++i) {
      const unsigned period = surprised(held_[i], 1);
      if (period == 0) continue;
      lanes_ = static_cast<std::uint8_t>(period + 1);
      held_between_ = true;
    }
    return true;
  }
  if (!strides && !is_usual && steps.find(held_[held_count_ - 1], access, 0) == kNoStep) {
    next.access = wanted;
    // Noise before the end of a row that was not foreseen.
    if (steps.find(last_, access, 0) != kNoStep) {
      if (noise < kMost) ++noise;
      return false;
    }
    // Two of one length begin something.
    if (held_count_ == 1 && access.length != held_[0].length) {
      held_[held_count_++] = access;
      next.waiting = true;
      return true;
    }
  }
  if (noise > -kMost) --noise;
  const Extent first = held_[0], second = held_[1];
  const bool two = held_count_ == 2;
  learn(first, steps, next);
  if (two) learn(second, steps, next);
  return false;
}

// One step came instead of another. Where a border of the past lies an access earlier or later this
// time, the accesses behind it are again where the past would have them.
void OneLane::slip(const Extent& access, const Extent& wanted) noexcept {
  if (access.length != wanted.length) return;
  loops_.mark();
  held_[0].offset = minus(wanted.offset, access.offset);
  slipped_ = kLongestSlip;
}

bool OneLane::is_back(const Extent& access, const StepTable& steps) noexcept {
  const std::uint8_t step = loops_.marked_step();
  --slipped_;
  if (step == kNoStep) {
    slipped_ = 0;
    return false;
  }
  const Extent wanted = steps.after(last_, step);
  held_[0].offset = minus(plus(wanted.offset, held_[0].offset), access.offset);
  const bool back = held_[0].offset == 0 && wanted.length == access.length;
  if (back) {
    slipped_ = 0;
  } else {
    loops_.move_mark();
  }
  return back;
}

void OneLane::learn(const Extent& access, StepTable& steps, Next& next) noexcept {
  if (next.step == kNoStep && seen_ > 1) {
    const bool strided = access.offset == plus(last_.offset, stride_);
    const bool sequential = access.offset == plus(last_.offset, last_.length);
    if (sequential && !strided && sequential_ < 2) ++sequential_;
    if (strided && !sequential && sequential_ > -2) --sequential_;
  }
  const bool was_sure = streak_ >= kSure;
  streak_ = 0;
  std::uint8_t step = steps.find(last_, access, 0);
  const bool is_new = step == kNoStep;
  const bool back = slipped_ != 0 && is_back(access, steps);
  if (was_sure && !is_new && next.step != kNoStep) slip(access, steps.after(last_, next.step));
  if (is_new) {
    step = new_step(access, steps);
    const unsigned period = surprised(access, 2);
    if (period != 0) {
      lanes_ = static_cast<std::uint8_t>(period);
      held_between_ = false;
    }
  }
  const Extent before = last_;
  const bool returned = seen_ > 1 && stride_ != 0 && access.offset == minus(last_.offset, stride_);
  move_to(access);
  if (step == kNoStep) {
    loops_.clear();
  } else {
    loops_.feed(step, is_new);
    if (back) loops_.follow_mark();
  }
  expect(steps, next);
  // Two places in turn: from the first it went to the second.
  if (next.step == kNoStep && returned) next.access = before;
}

std::uint8_t OneLane::new_step(const Extent& access, StepTable& steps) noexcept {
  Step step{};
  if (!StepTable::between(last_, access, 0, step)) return kNoStep;
  std::uint8_t id = steps.add(step);
  for (int attempt = 0; id == kNoStep && attempt < 3; ++attempt) {
    if (attempt == 1) loops_.drop_oldest();
    if (attempt == 2) loops_.clear();
    steps.keep(loops_.steps_used());
    id = steps.add(step);
  }
  return id;
}

Extent OneLane::surprise(unsigned back) const noexcept {
  const unsigned slot = (surprise_at_ + kSurprises - back) % kSurprises;
  return {surprise_offset_[slot], surprise_length_[slot]};
}

// Notes a surprise. Surprises of which each goes on, at a constant stride, with the one so many
// before it, are sequences that take turns: returns that number, if it is `least` or more; else 0.
unsigned OneLane::surprised(const Extent& access, unsigned least) noexcept {
  unsigned found = 0;
  for (unsigned period = 1; 2 * period <= surprises_ && found == 0; ++period) {
    if (!goes_on(access, surprise(period), surprise(2 * period))) continue;
    // Among places drawn from a grid three at equal distances are no rarity: where the one before
    // is not far away, the sequences whose turns were before have to go on as well.
    const bool far = distance(access.offset, surprise(1).offset) / kFar >
                     distance(access.offset, surprise(period).offset);
    const unsigned others = least > 1 && !far ? std::min(period, 3u) - 1 : 0;
    unsigned confirmed = 0;
    while (confirmed < others && 2 * period + confirmed < surprises_ &&
           goes_on(surprise(confirmed + 1), surprise(confirmed + 1 + period),
                   surprise(confirmed + 1 + 2 * period))) {
      ++confirmed;
    }
    if (confirmed == others) found = period;
  }
  surprise_offset_[surprise_at_] = access.offset;
  surprise_length_[surprise_at_] = static_cast<std::uint64_t>(access.length) < kLong
                                       ? static_cast<std::uint32_t>(access.length)
                                       : kLong;
  surprise_at_ = static_cast<std::uint8_t>((surprise_at_ + 1u) % kSurprises);
  if (surprises_ < kSurprises) ++surprises_;
  return found >= least ? found : 0;
}

// The last surprise is where the stream is now, and the access before it ended the turn before; or,
// with what came between and was held back, the surprises are the other sequences. Where there are
// too many, the nearest are taken for parts of one.
unsigned OneLane::turns(std::span<Extent> at) const noexcept {
  Extent place[kSurprises / 2 + 1];
  unsigned count = lanes_;
  place[0] = last_;
  for (unsigned i = 1; i < count; ++i) place[i] = surprise(count - i + (held_between_ ? 0 : 1));
  if (!held_between_) {
    place[count - 1] = {minus(last_.offset, stride_), place[count - 1].length};
  }
  for (; count > at.size(); --count) {
    unsigned near = 1, other = 0;
    std::uint64_t least = ~std::uint64_t{0};
    for (unsigned a = 1; a < count; ++a) {
      for (unsigned b = 0; b < a; ++b) {
        const std::int64_t way = minus(place[a].offset, place[b].offset);
        const auto distance = static_cast<std::uint64_t>(way < 0 ? minus(0, way) : way);
        if (distance >= least) continue;
        least = distance;
        near = a;
        other = b;
      }
    }
    // The one that was later stays: the first of all, else the one with the higher number.
    const unsigned gone = other == 0 ? near : other;
    for (unsigned i = gone; i + 1 < count; ++i) place[i] = place[i + 1];
  }
  for (unsigned i = 0; i < count; ++i) at[i] = place[i];
  return count;
}

void OneLane::guess(Next& next) const noexcept {
  const bool sequential = sequential_ > 0 || seen_ < 2;
  next.step = kNoStep;
  next.access = {plus(last_.offset, sequential ? last_.length : stride_), last_.length};
}

unsigned OneLane::predict(const StepTable& steps, const Next& next, Confidence confidence,
                          std::span<Prediction> out) const noexcept {
  if (seen_ == 0) return 0;
  unsigned made = 0;
  if (loops_.expected() == kNoStep) {
    Extent access = next.access;
    const std::int64_t stride = minus(access.offset, last_.offset);
    for (; made < out.size(); ++made) {
      out[made] = {access, confidence.next()};
      access.offset = plus(access.offset, stride);
    }
    return made;
  }
  if (next.waiting && !out.empty() && !(next.access == steps.after(last_, next.step))) {
    out[0] = {next.access, confidence.next()};
    return 1;
  }
  typename decltype(loops_)::Walk walk(loops_);
  Extent access = last_;
  for (; made < out.size(); ++made) {
    const std::uint8_t step = walk.next();
    if (step == kNoStep) break;
    access = steps.after(access, step);
    out[made] = {access, confidence.next()};
  }
  return made;
}

}  // namespace iotune::patterns
