#include "patterns/predict/history_predictor.h"

namespace iotune::patterns {

namespace {

constexpr std::uint64_t scattered(std::uint64_t word) noexcept {
  word *= 0x9e3779b97f4a7c15U;
  return word ^ word >> 29U;
}

}  // namespace

// The number of a length. Where too many share a place, the newest takes it: steps of the older one
// are wrong from then on.
std::uint16_t HistoryPredictor::length_of(std::int64_t length) noexcept {
  const auto first = static_cast<std::uint32_t>(scattered(static_cast<std::uint64_t>(length)));
  for (std::uint32_t i = 0; i < 8; ++i) {
    std::int64_t& place = lengths_[(first + i) % kLengths];
    if (place == 0) place = length;
    if (place == length) return static_cast<std::uint16_t>((first + i) % kLengths);
  }
  lengths_[first % kLengths] = length;
  return static_cast<std::uint16_t>(first % kLengths);
}

// Of the last `context` steps.
std::uint32_t HistoryPredictor::slot_of(unsigned context) const noexcept {
  std::uint64_t word = context;
  for (unsigned back = 1; back <= context; ++back) {
    word = scattered(word ^ steps_[(made_ - back) % kSteps].word());
  }
  return static_cast<std::uint32_t>(word % kSlots);
}

// Whether the last `context` steps are those in front of the step `at`.
bool HistoryPredictor::was_before(std::uint32_t at, unsigned context) const noexcept {
  if (at < context || at >= made_ || made_ - at + context > kSteps) return false;
  for (unsigned back = 1; back <= context; ++back) {
    if (!(steps_[(made_ - back) % kSteps] == steps_[(at - back) % kSteps])) return false;
  }
  return true;
}

void HistoryPredictor::look_up() noexcept {
  const bool goes_on = follows() && !waits_;
  bool found = goes_on;
  for (unsigned i = 0; i < 3; ++i) {
    const unsigned context = kContexts[i];
    if (made_ < context) continue;
    std::uint16_t& place = places_[i][slot_of(context)];
    if (!found) {
      // The place in the ring says the step but for the ring's turns.
      const std::uint32_t back = (made_ + kSteps - place) % kSteps;
      const std::uint32_t at = made_ - back;
      // One step alone is no reason to give up what was followed.
      found = back != 0 && back <= made_ && was_before(at, context) && (!waits_ || context > 1);
      if (found) {
        follow_ = at;
        waits_ = false;
      }
    }
    // While the past goes on as it did, what it says is known already.
    if (!goes_on || context == kContexts[0]) place = static_cast<std::uint16_t>(made_ % kSteps);
  }
}

void HistoryPredictor::observe(const Extent& access) noexcept {
  if (!begun_) {
    begun_ = true;
    last_ = access;
    return;
  }
  const bool right = expects(access);
  rate_.saw(right);
  if (right) {
    ++follow_;
    waits_ = false;
  } else if (follows() && !waits_) {
    missed_ = next();
    waits_ = true;
  } else {
    follow_ = kNowhere;
    waits_ = false;
  }
  steps_[made_ % kSteps] = {minus(access.offset, last_.offset), length_of(access.length)};
  ++made_;
  last_ = access;
  // The step to be followed has left the ring.
  if (follows() && made_ - follow_ >= kSteps) {
    follow_ = kNowhere;
    waits_ = false;
  }
  look_up();
}

unsigned HistoryPredictor::predict(std::span<Prediction> out) const noexcept {
  if (!follows()) return 0;
  Confidence confidence(rate_.share());
  Extent access = next();
  unsigned filled = 0;
  for (std::uint32_t at = follow_; filled < out.size() && at < made_; ++at) {
    if (filled != 0) access = after(access, steps_[at % kSteps]);
    out[filled++] = {access, confidence.next()};
  }
  return filled;
}

}  // namespace iotune::patterns
