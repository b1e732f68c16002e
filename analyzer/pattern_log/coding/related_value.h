// A number of a nest in relation to what the loops around and before it cover: a row of a matrix is
// so many times what is read of it, or that and a gap.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include "analyzer/pattern_log/coding/number_models.h"

namespace iotune::analyzer::pattern_log {

// Bytes that parts of a nest cover, the newest first; modulo 2^64.
class Spans {
 public:
  static constexpr unsigned kMost = 8;

  void add(std::uint64_t bytes) noexcept {
    if (bytes == 0) return;
    unsigned place = 0;
    while (place < size_ && bytes_[place] != bytes) ++place;
    if (place == size_ && size_ < kMost) ++size_;
    for (place = std::min(place, kMost - 1); place > 0; --place) bytes_[place] = bytes_[place - 1];
    bytes_[0] = bytes;
  }
  unsigned size() const noexcept { return size_; }
  std::uint64_t operator[](unsigned place) const noexcept { return bytes_[place]; }

 private:
  std::array<std::uint64_t, kMost> bytes_{};
  unsigned size_ = 0;
};

// One of a few guesses; or so many times a span; or a span and a rest; or one met lately; or
// itself.
class RelatedValue {
 public:
  static constexpr unsigned kGuesses = 4;

  explicit RelatedValue(const Tree<7>& length = expected::kBytes) noexcept : number_(length) {}

  // `times`: how many times a span it may well be.
  template <class Coder>
  std::uint64_t code(Coder& coder, std::uint64_t value,
                     std::initializer_list<std::uint64_t> guesses, const Spans& spans,
                     std::uint64_t times, RecentNumbers& recent) {
    const unsigned history = history_;
    history_ = static_cast<std::uint8_t>((history << 1U | 1U) & 3U);
    const std::uint64_t* const guess = guesses.begin();
    for (std::size_t g = 0; g < guesses.size() && g < kGuesses; ++g) {
      if (std::find(guess, guess + g, guess[g]) != guess + g) continue;
      if (coder.bit(right_[history][g], Coder::kWrites && value == guess[g])) {
        if (g == 0) history_ &= 2U;
        return guess[g];
      }
      if (g == 0 && last_place_ < spans.size()) {
        const std::uint64_t as_before = spans[last_place_] * last_times_;
        if (coder.bit(as_before_, Coder::kWrites && value == as_before)) return as_before;
      }
    }
    Relation relation;
    if constexpr (Coder::kWrites) relation = best_relation(value, spans, times, recent);
    if (spans.size() == 0) {
      relation.how = coder.bit(met_, relation.how == How::kRecent) ? How::kRecent : How::kNumber;
    } else {
      relation.how = static_cast<How>(how_.code(coder, static_cast<unsigned>(relation.how)));
    }
    switch (relation.how) {
      case How::kNumber:
        value = number_.code(coder, value);
        break;
      case How::kRecent:
        value = recent.at(place_.code(coder, relation.place));
        break;
      default: {
        const unsigned place = span_.code(coder, relation.place);
        if (place >= spans.size()) {
          coder.fail();
          return 0;
        }
        if (relation.how == How::kTimes) {
          value = spans[place] * code_times(coder, relation.number, times);
          last_place_ = place;
        } else {
          value = spans[place] + rest_.code(coder, relation.number);
        }
      }
    }
    recent.met(value);
    return value;
  }

 private:
  enum class How : unsigned { kNumber, kRecent, kTimes, kPlus };
  struct Relation {
    How how = How::kNumber;
    unsigned place = 0;  // of the span, or of the recent number
    std::uint64_t number = 0;
  };

  template <class Coder>
  std::uint64_t code_times(Coder& coder, std::uint64_t number, std::uint64_t times) {
    if (last_place_ < Spans::kMost &&
        coder.bit(as_last_, Coder::kWrites && number == last_times_)) {
      return last_times_;
    }
    if (coder.bit(as_guessed_, Coder::kWrites && number == times)) {
      return last_times_ = times;
    }
    return last_times_ = times_.code(coder, number);
  }

  // What takes the fewest bits.
  Relation best_relation(std::uint64_t value, const Spans& spans, std::uint64_t times,
                         const RecentNumbers& recent) {
    Relation best;
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    const auto try_one = [&](const Relation& relation, auto&& code) {
      BitCost cost;
      if (spans.size() == 0) {
        cost.bit(met_, relation.how == How::kRecent);
      } else {
        how_.code(cost, static_cast<unsigned>(relation.how));
      }
      code(cost);
      if (cost.cost() >= least) return;
      least = cost.cost();
      best = relation;
    };
    try_one({How::kNumber, 0, 0}, [&](BitCost& cost) { number_.code(cost, value); });
    if (const int met = recent.find(value); met >= 0) {
      const auto place = static_cast<unsigned>(met);
      try_one({How::kRecent, place, 0}, [&](BitCost& cost) { place_.code(cost, place); });
    }
    const std::uint64_t last = last_times_;
    for (unsigned place = 0; place < spans.size(); ++place) {
      const std::uint64_t rest = value - spans[place];
      try_one({How::kPlus, place, rest}, [&](BitCost& cost) {
        span_.code(cost, place);
        rest_.code(cost, rest);
      });
      const auto span = static_cast<std::int64_t>(spans[place]);
      const auto whole = static_cast<std::int64_t>(value);
      // INT64_MIN / -1 is not defined; spans of one byte tell nothing.
      if (span == 1 || span == -1 || whole % span != 0) continue;
      const auto number = static_cast<std::uint64_t>(whole / span);
      try_one({How::kTimes, place, number}, [&](BitCost& cost) {
        span_.code(cost, place);
        code_times(cost, number, times);
      });
      last_times_ = last;
    }
    return best;
  }

  std::array<std::array<Bit, kGuesses>, 4> right_ = [] {
    const std::array<Bit, kGuesses> fresh{Bit(), Bit::rare(3), Bit::rare(4), Bit::rare(4)};
    return std::array<std::array<Bit, kGuesses>, 4>{fresh, fresh, fresh, fresh};
  }();
  std::uint8_t history_ = 0;  // of the last two, a bit each: was the first guess wrong?
  static constexpr Tree<2> kHow{{5, 1, 5, 3}};
  static constexpr Tree<3> kSpan{{12, 7, 4, 3, 2, 2, 1, 1}};
  Tree<2> how_ = kHow;
  Bit met_ = Bit::rare(6), as_before_, as_last_, as_guessed_ = Bit::rare(3);
  Tree<4> place_ = expected::kMetPlace;
  Tree<3> span_ = kSpan;
  std::uint64_t last_times_ = 1;
  unsigned last_place_ = Spans::kMost;  // of the span that it was taken so many times of
  SignedNumber number_, rest_;
  SignedNumber times_{expected::kFew};
};

}  // namespace iotune::analyzer::pattern_log
