#include "analyzer/pattern_log/channels.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace iotune::analyzer::pattern_log {
namespace {

// What a loop has predicted before one access that it did not is held to be noise.
constexpr std::uint64_t kTrusted = 12;

// A stream that has so few terms after its first accesses is one channel. Of others more accesses
// are tried in turns, which must bring so much.
constexpr std::size_t kFirstSample = 256, kFewTerms = 4;
constexpr std::size_t kSample = 2048, kLeastSample = 128, kFewInSample = 16;
constexpr std::size_t kTurnsBring = 2, kNoisyTurnsBring = 8;
// What brings so much is not compared with what a sieve would.
constexpr std::size_t kTurnsSuffice = 4;
// Of the first accesses, so many steps over a round of turns come again at least; and so many of
// what the likeliest turns have.
constexpr std::size_t kRepeatedShare = 16, kLikely = 2;
// Streams of so many terms are tried without what may be noise.
constexpr std::size_t kFewNoisy = 24;
constexpr std::uint32_t kMostWays = 4, kMostTurn = 4;
// A channel without an access in so many rounds has ended. (Fewer are a confusion that heals.)
constexpr std::uint64_t kSilentRounds = 24;
// Turns that bring nothing in so many accesses are not tried on all.
constexpr std::size_t kFirstTry = 256;

// How often do steps over so many accesses come again? In random accesses they do not, and no lane
// of loops is without.
class RepeatedSteps {
 public:
  std::size_t operator()(std::span<const Extent> accesses, std::size_t period) {
    met_.fill(0);
    std::size_t again = 0;
    for (std::size_t i = period; i < accesses.size(); ++i) {
      const std::uint64_t step =
          unsigned_of(accesses[i].offset) - unsigned_of(accesses[i - period].offset);
      const std::uint64_t mark = (step + 1) * 0x9e3779b97f4a7c15U;
      std::uint64_t& slot = met_[mark >> 55U];
      again += slot == mark ? 1 : 0;
      slot = mark;
    }
    return again;
  }

 private:
  std::array<std::uint64_t, 512> met_;
};

// Each loop is a few numbers: turns that leave no more are not compared with others.
bool is_enough(std::size_t numbers, const Turns& turns) noexcept {
  return numbers <= 3 * std::size_t{turns.ways} + 2;
}

// Turns in which these accesses may come, the likeliest first.
std::vector<Turns> likely_turns(std::span<const Extent> accesses) {
  const auto begin = accesses.first(std::min(accesses.size(), kFirstTry));
  RepeatedSteps repeated;
  std::array<std::size_t, kMostWays * kMostTurn + 1> again{};
  std::size_t most = 0;
  std::vector<Turns> likely;
  for (std::uint32_t ways = 2; ways <= kMostWays; ++ways) {
    for (std::uint32_t turn = 1; turn <= kMostTurn; ++turn) {
      std::size_t& known = again[std::size_t{ways} * turn];
      if (known == 0) known = repeated(begin, std::size_t{ways} * turn);
      most = std::max(most, known);
      likely.push_back({ways, turn, false});
    }
  }
  const auto often = [&](const Turns& turns) {
    return again[std::size_t{turns.ways} * turns.turn];
  };
  std::erase_if(likely, [&](const Turns& turns) {
    return often(turns) * kRepeatedShare < begin.size() || often(turns) * kLikely < most;
  });
  // Short rounds first, if they are as good: what comes again after one does so after two.
  const auto order = [&](const Turns& turns) {
    const std::size_t round = std::size_t{turns.ways} * turns.turn;
    return often(turns) * 4 >= most * 3 ? round : SIZE_MAX - often(turns);
  };
  std::stable_sort(likely.begin(), likely.end(),
                   [&](const Turns& a, const Turns& b) { return order(a) < order(b); });
  return likely;
}

}  // namespace

Channels::Channels(Turns turns)
    : turns_(turns),
      sieve_(turns.sifted ? std::make_unique<NoiseSieve>() : nullptr),
      sampling_(false) {}

void Channels::add(std::span<const Extent> accesses, Shapes& shapes) {
  while (sampling_ && !accesses.empty()) {
    const std::size_t limit = sample_.size() < kFirstSample ? kFirstSample : kSample;
    const auto now = accesses.first(std::min(accesses.size(), limit - sample_.size()));
    sample_.insert(sample_.end(), now.begin(), now.end());
    add_in_turns(now, shapes);
    accesses = accesses.subspan(now.size());
    if (sample_.size() < limit) continue;
    if (limit == kFirstSample && numbers_held() > kFewTerms) continue;
    choose_turns(shapes);
  }
  add_sifted(accesses, shapes);
}

// In which turns do the first accesses have the fewest terms? Ends sampling.
void Channels::choose_turns(Shapes& shapes) {
  const std::vector<Extent> sample = std::exchange(sample_, {});
  sampling_ = false;
  const std::size_t as_one = numbers_held();
  const std::size_t in_loops = numbers_in_loops();
  if (sample.size() < kLeastSample || in_loops < kFewNoisy) return;
  const bool may_have_turns = in_loops >= sample.size() / kFewInSample;
  for (const FoundTurns::Sample& like : found_->samples) {
    if (like.accesses != sample.size() || like.as_one != as_one) continue;
    if (like.turns.ways == 1 && !like.turns.sifted) return;
    Tried tried(like.turns, sample);
    if (tried.numbers.all > like.in_turns) break;
    return set_turns(std::move(tried), sample, shapes);
  }
  std::size_t least = as_one;
  std::optional<Tried> best;
  const auto keep = [&](Tried&& tried) {
    if (tried.numbers.all >= least) return;
    least = tried.numbers.all;
    best = std::move(tried);
  };
  if (may_have_turns) {
    std::uint32_t round = 0;
    for (const Turns turns : likely_turns(sample)) {
      // Of one round all are tried: they look the same.
      if (best && turns.ways * turns.turn != round && is_enough(least, best->channels.turns_))
        break;
      round = turns.ways * turns.turn;
      Tried tried(turns, sample);
      // Noise costs more beside turns, but what is left of the loops may be all that there is.
      const Numbers& left = tried.numbers;
      if (left.all < as_one / kTurnsBring ||
          (left.all < as_one / 4 * 3 && left.in_loops < in_loops / kNoisyTurnsBring)) {
        keep(std::move(tried));
      }
    }
  }
  // Noise costs the same wherever it is kept; without it loops can be found that are longer than
  // the sample.
  if (least > as_one / kTurnsSuffice) {
    Tried sifted({1, 1, true}, sample);
    if (sifted.numbers.in_loops <= in_loops / 3 * 2) keep(std::move(sifted));
  }
  found_->samples[found_->next++ % found_->samples.size()] = {
      sample.size(), as_one, least, best ? best->channels.turns_ : Turns{}};
  if (best) set_turns(std::move(*best), sample, shapes);
}

Channels::Tried::Tried(Turns turns, std::span<const Extent> accesses) : channels(turns) {
  const auto first = accesses.first(std::min(accesses.size(), kFirstTry));
  channels.add_sifted(first, shapes);
  // Too much already?
  if (channels.numbers_held() * kTurnsBring > first.size()) return;
  channels.add_sifted(accesses.subspan(first.size()), shapes);
  numbers = {channels.numbers_held(), channels.numbers_in_loops()};
}

// Begins anew.
void Channels::set_turns(Tried&& tried, std::span<const Extent> sample, Shapes& shapes) {
  // What has no accesses stays: physical offsets.
  FoundTurns* const found = found_;
  const Turns turns = tried.channels.turns_;
  const bool again = tried.shapes.size() > 1;  // it has listed loops, of shapes of its own
  auto physical = std::move(finders_[kPhysicalChannel]);
  TermList physical_list = std::move(lists_[kPhysicalChannel]);
  *this = again ? Channels(turns) : std::move(tried.channels);
  found_ = found;
  finders_[kPhysicalChannel] = std::move(physical);
  lists_[kPhysicalChannel] = std::move(physical_list);
  if (again) return add_sifted(sample, shapes);
  for (const auto& finder : finders_) {
    if (finder) finder->forget_shapes();
  }
}

TermFinder& Channels::finder(std::uint32_t channel) {
  if (!finders_[channel]) finders_[channel] = std::make_unique<TermFinder>();
  return *finders_[channel];
}

void Channels::add_to(std::uint32_t channel, std::span<const Extent> accesses, Shapes& shapes) {
  finder(channel).add(accesses, shapes, lists_[channel]);
}

void Channels::took(std::uint32_t channel, std::uint64_t count, Shapes& shapes) {
  if (channel == run_channel_) {
    run_ += count;
    return;
  }
  one_channel_ = false;
  const Extent turn = {static_cast<std::int64_t>(run_channel_), static_cast<std::int64_t>(run_)};
  add_to(kTurnsChannel, {&turn, 1}, shapes);
  run_channel_ = channel;
  run_ = count;
}

void Channels::take(std::uint32_t channel, std::span<const Extent> accesses, Shapes& shapes) {
  if (turns_.ways > 1) familiar(channel).took(accesses);
  add_to(channel, accesses, shapes);
  took(channel, accesses.size(), shapes);
  in_turn_ = channel == channel_ ? in_turn_ + 1 : 1;
  channel_ = channel;
  taken_at_[channel] = ++taken_;
}

// Whose turn it is; channels that have ended have none.
std::uint32_t Channels::due() const noexcept {
  if (in_turn_ < turns_.turn) return channel_;
  const std::uint64_t silent = kSilentRounds * turns_.ways * turns_.turn;
  std::uint32_t channel = channel_;
  for (std::uint32_t k = 0; k < turns_.ways; ++k) {
    channel = channel + 1 == turns_.ways ? 0 : channel + 1;
    if (taken_ - taken_at_[channel] <= silent) break;
  }
  return channel;
}

void Channels::add_sifted(std::span<const Extent> accesses, Shapes& shapes) {
  if (!sieve_) return add_in_turns(accesses, shapes);
  const auto regular = [&](const Extent& access) { add_in_turns({&access, 1}, shapes); };
  const auto noise = [&](std::span<const Extent> held) { take_noise(held, shapes); };
  for (const Extent& access : accesses) sieve_->add(access, regular, noise);
}

void Channels::take_noise(std::span<const Extent> noise, Shapes& shapes) {
  if (pending_count_ > 0) place_pending(due(), shapes);
  add_to(turns_.ways, noise, shapes);
  took(turns_.ways, noise.size(), shapes);
}

void Channels::add_in_turns(std::span<const Extent> accesses, Shapes& shapes) {
  while (!accesses.empty()) {
    if (turns_.ways == 1 && pending_count_ == 0) {
      // Until a trusted loop is disappointed, everything is the one finder's.
      TermFinder& only = finder(0);
      const std::size_t predicted = only.go_on(accesses);
      took(0, predicted, shapes);
      since_noise_ += predicted;
      accesses = accesses.subspan(predicted);
      if (accesses.empty()) return;
      const std::size_t alone = only.add_until_open(accesses, shapes, lists_[0]);
      took(0, alone, shapes);
      since_noise_ += alone;
      accesses = accesses.subspan(alone);
      if (accesses.empty()) return;
      if (alone > 0) continue;
      if (only.predicted() < kTrusted) {
        take(0, accesses.first(1), shapes);
        ++since_noise_;
        accesses = accesses.subspan(1);
        continue;
      }
    }
    decide(accesses.front(), shapes);
    accesses = accesses.subspan(1);
  }
}

void Channels::decide(const Extent& access, Shapes& shapes) {
  const std::uint32_t turn = due();
  ++since_noise_;
  if (pending_count_ > 0) {
    const bool goes_on = expects(turn, access) || is_familiar(turn, access);
    place_pending(goes_on && !repeats_structure(pending_[0]) ? turns_.ways : turn, shapes);
    if (goes_on) return take(turn, {&access, 1}, shapes);
    return decide(access, shapes);
  }
  if (expects(turn, access)) return take(turn, {&access, 1}, shapes);
  for (std::uint32_t channel = 0; channel < turns_.ways; ++channel) {
    if (expects(channel, access) && finders_[channel]->predicted() >= kTrusted) {
      return take(channel, {&access, 1}, shapes);
    }
  }
  // Where an access too many or too few was counted, turns are found again by the steps.
  for (std::uint32_t k = 0; k < turns_.ways; ++k) {
    const std::uint32_t channel = (turn + k) % turns_.ways;
    if (is_familiar(channel, access)) return take(channel, {&access, 1}, shapes);
  }
  if (turns_.ways > 1 || finder(turn).predicted() >= kTrusted) {
    pending_[pending_count_++] = access;
    return;
  }
  take(turn, {&access, 1}, shapes);
}

// A header between equal pieces of data is no noise.
bool Channels::repeats_structure(const Extent& pending) noexcept {
  const bool repeats = since_noise_ == last_gap_ && pending.length == last_noise_length_;
  last_gap_ = since_noise_;
  last_noise_length_ = pending.length;
  since_noise_ = 0;
  return repeats;
}

void Channels::place_pending(std::uint32_t channel, Shapes& shapes) {
  const std::size_t count = std::exchange(pending_count_, 0);
  if (channel < turns_.ways) return take(channel, {pending_.data(), count}, shapes);
  add_to(channel, {pending_.data(), count}, shapes);
  took(channel, count, shapes);
}

void Channels::finish(Shapes& shapes) {
  if (sampling_) choose_turns(shapes);
  if (sieve_) sieve_->release([&](const Extent& access) { add_in_turns({&access, 1}, shapes); });
  if (pending_count_ > 0) place_pending(due(), shapes);
  if (!one_channel_) {
    const Extent turn = {static_cast<std::int64_t>(run_channel_), static_cast<std::int64_t>(run_)};
    add_to(kTurnsChannel, {&turn, 1}, shapes);
  }
  for (std::uint32_t channel = 0; channel < kChannels; ++channel) {
    if (finders_[channel]) finders_[channel]->finish(shapes, lists_[channel]);
  }
}

void Channels::restart() {
  Channels fresh(*found_);
  fresh.sample_ = std::move(sample_);
  fresh.sample_.clear();
  fresh.finders_ = std::move(finders_);
  *this = std::move(fresh);
}

std::size_t Channels::leaves_listed() const noexcept {
  std::size_t leaves = 0;
  for (const TermList& list : lists_) leaves += list.leaves.size();
  return leaves;
}

// About how much there is to be written: terms, and more for loops with many leaves.
std::size_t Channels::numbers_held() const noexcept {
  std::size_t numbers = 0;
  for (std::uint32_t channel = 0; channel < kPhysicalChannel; ++channel) {
    numbers += lists_[channel].leaves.size();
    numbers += finders_[channel] ? finders_[channel]->leaves_held() : 0;
  }
  return numbers;
}

// The same without noise and turns.
std::size_t Channels::numbers_in_loops() const noexcept {
  std::size_t numbers = 0;
  for (std::uint32_t channel = 0; channel < turns_.ways; ++channel) {
    numbers += lists_[channel].leaves.size();
    numbers += finders_[channel] ? finders_[channel]->leaves_held() : 0;
  }
  return numbers;
}

void Channels::forget_shapes(Shapes& shapes) {
  if (sampling_) choose_turns(shapes);
  for (const auto& finder : finders_) {
    if (finder) finder->forget_shapes();
  }
}

}  // namespace iotune::analyzer::pattern_log
