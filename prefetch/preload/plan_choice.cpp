#include "prefetch/preload/plan_choice.h"

#include <algorithm>

#include "core/os/private_memory.h"
#include "patterns/predict/recorded_plan.h"
#include "prefetch/preload/stream_slots.h"

namespace iotune::prefetch {
namespace {

using patterns::Extent;
using patterns::Prediction;

// Plans are read from files, in a read of the program's: not often, and not for a file of which
// there are thousands (a chunk, a sample), each with a read or two.
constexpr std::size_t kReadsBefore = 6;
constexpr unsigned kMostTries = 4;
static_assert(SavedState::kFirst <= patterns::kPlanPiece, "a plan's first piece tells");
// A plan that predicted half of so many reads is the right one, and is not recorded again.
constexpr std::uint32_t kTrialReads = 64;
// Reads that the past has and the present has not, where it begins anew: metadata is kept.
constexpr unsigned kMostLeftOut = 8;

const patterns::PredictorKind& recorded() noexcept {
  static constinit const patterns::PredictorKind* kind = nullptr;
  if (kind == nullptr) kind = patterns::predictor_kind("recorded");
  return *kind;
}

bool has_next(const std::byte* predictor, const Extent& access) noexcept {
  Prediction next;
  return recorded().predict(predictor, {&next, 1}) == 1 && next.extent == access;
}

// Starts the predictor on a plan, as if it had seen these reads; returns how many it had planned.
unsigned follow(std::span<std::byte> predictor, std::span<const std::byte> plan,
                std::span<const Extent> reads) noexcept {
  if (!recorded().start(predictor, {.earlier = plan})) return 0;
  unsigned planned = 0;
  for (const Extent& read : reads) {
    if (has_next(predictor.data(), read)) ++planned;
    recorded().observe(predictor.data(), read);
  }
  return planned;
}

std::span<std::byte> predictor_of(StreamSlot& slot) noexcept {
  return {slot.predictor(), recorded().bytes({})};
}

void take(StreamSlot& slot, SavedState& state, std::span<const std::byte> plan,
          std::span<const Extent> reads, bool is_own_past) noexcept {
  follow(predictor_of(slot), plan, reads);
  if (plan.data() != state.saved.data()) release_saved(state.saved);
  state.saved = plan;
  state.is_own_past = is_own_past;
}

// The plan of this path that has most of the first reads, if it has more than the present one. They
// are compared by their first pieces, of which each has as many accesses as are known of the
// stream.
void choose_among_saved(StreamSlot& slot, SavedState& state) noexcept {
  const std::span<const Extent> reads(state.first, state.firsts);
  const std::size_t trial_bytes = recorded().bytes({});
  const std::size_t begin_bytes = patterns::plan_bytes_limit(patterns::kPlanPiece);
  auto* const memory = static_cast<std::byte*>(private_memory(trial_bytes + begin_bytes));
  if (memory == nullptr) return;
  const std::span<std::byte> trial(memory, trial_bytes);
  unsigned best = state.saved.empty() ? 0 : follow(trial, state.saved, reads);
  std::uint32_t found = kMostSavedOfPath;
  SavedOfPath plans(state.key.path, "recorded");
  const std::uint64_t numbers = plans.numbers();
  for (std::uint32_t number = 0; number < kMostSavedOfPath; ++number) {
    if ((numbers >> number & 1) == 0) continue;
    const std::span<const std::byte> begin =
        plans.begin_of(number, {memory + trial_bytes, begin_bytes});
    const unsigned planned = begin.empty() ? 0 : follow(trial, begin, reads);
    if (planned <= best) continue;
    best = planned;
    found = number;
  }
  unmap(memory, trial_bytes + begin_bytes);
  if (found == kMostSavedOfPath) return;
  const std::span<const std::byte> plan = read_saved({state.key.path, found}, "recorded");
  if (plan.empty()) return;  // it is gone, or was damaged
  take(slot, state, plan, reads, false);
  state.saved_number = found;
}

// Where among the stream's first reads an access is: from `from` on, `count` of them are looked at.
std::size_t place_of(const SavedState& state, const Extent& access, std::size_t from,
                     std::size_t count) noexcept {
  const std::size_t end = std::min<std::size_t>(from + count, state.firsts);
  while (from < end && !(state.first[from] == access)) ++from;
  return from < end ? from : SavedState::kFirst;
}

// One read may be as one of the first by chance; the next one has to follow as it did then.
void begin_past_anew(StreamSlot& slot, SavedState& state, const Extent& access) noexcept {
  const bool follows = state.resumed != 0;
  const std::size_t at = follows ? place_of(state, access, state.resumed, kMostLeftOut)
                                 : place_of(state, access, 0, state.firsts);
  const std::size_t behind = at + 1;
  if (!follows || behind > state.firsts) {
    state.resumed = behind < state.firsts ? static_cast<std::uint8_t>(behind) : 0;
    return;
  }
  state.resumed = 0;
  const std::span<const Extent> again(state.first, behind);
  // What predicted this stream once does so again; else it is its own past.
  if (!state.saved.empty() && (state.is_own_past || state.plan == nullptr)) {
    take(slot, state, state.saved, again, state.is_own_past);
  } else if (state.plan != nullptr) {
    const std::span<const std::byte> past = state.plan->copy();
    if (!past.empty()) take(slot, state, past, again, true);
  }
}

}  // namespace

bool is_planned(StreamSlot& slot, const Extent& access) noexcept {
  return has_next(slot.predictor(), access);
}

void choose_plan(StreamSlot& slot, const Extent& access, bool planned) noexcept {
  SavedState& state = *saved_state(slot);
  if (state.key.path == 0) return;
  ++state.reads;
  if (planned) ++state.planned;
  // The stream tells its predictor nothing of reads that come out of memory. A plan goes on with
  // them: else it would predict nothing behind them, and be recorded once more by each run.
  if (slot.stream().is_in_memory()) recorded().observe(slot.predictor(), access);
  const bool is_first = state.firsts < SavedState::kFirst;
  if (is_first) state.first[state.firsts++] = access;
  if (state.reads == kTrialReads && state.plan != nullptr && 2 * state.planned >= state.reads) {
    state.plan->release();
    state.plan = nullptr;
  }
  if (planned) {
    state.resumed = 0;
  } else if (is_first) {
    if (state.firsts < kReadsBefore || state.tries == kMostTries) return;
    ++state.tries;
    choose_among_saved(slot, state);
  } else {
    begin_past_anew(slot, state, access);
  }
}

}  // namespace iotune::prefetch
