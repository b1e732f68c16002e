#include "patterns/predict/predictors.h"

#include <cstring>
#include <new>
#include <type_traits>

#include "patterns/predict/baselines/markov_predictor.h"
#include "patterns/predict/baselines/simple_predictors.h"
#include "patterns/predict/baselines/tree_predictor.h"
#include "patterns/predict/baselines/unit_predictor.h"
#include "patterns/predict/best_predictor.h"
#include "patterns/predict/nest_predictor.h"
#include "patterns/predict/recorded_plan.h"

namespace iotune::patterns {
namespace {

template <typename P>
struct Kind {
  static_assert(std::is_trivially_destructible_v<P>);

  static P& of(std::byte* memory) noexcept { return *std::launder(reinterpret_cast<P*>(memory)); }
  static std::size_t bytes(const PredictorOptions&) noexcept { return sizeof(P); }
  static bool start(std::span<std::byte> memory, const PredictorOptions&) noexcept {
    if (memory.size() < sizeof(P)) return false;
    new (memory.data()) P;
    return true;
  }
  static void observe(std::byte* memory, Extent access) noexcept { of(memory).observe(access); }
  static unsigned predict(const std::byte* memory, std::span<Prediction> out) noexcept {
    return std::launder(reinterpret_cast<const P*>(memory))->predict(out);
  }
  static constexpr PredictorKind kind(std::string_view name) noexcept {
    return {.name = name, .bytes = bytes, .start = start, .observe = observe, .predict = predict};
  }
};

std::size_t markov_bytes(const PredictorOptions& options) noexcept {
  return sizeof(MarkovPredictor) + options.transitions * sizeof(MarkovPredictor::Transition);
}

bool start_markov(std::span<std::byte> memory, const PredictorOptions& options) noexcept {
  constexpr std::size_t kMost = SIZE_MAX / 2 / sizeof(MarkovPredictor::Transition);
  if (options.block_bytes <= 0 || options.transitions > kMost ||
      memory.size() < markov_bytes(options)) {
    return false;
  }
  auto* slots =
      reinterpret_cast<MarkovPredictor::Transition*>(memory.data() + sizeof(MarkovPredictor));
  for (std::size_t i = 0; i < options.transitions; ++i) {
    new (slots + i) MarkovPredictor::Transition{};
  }
  auto* predictor =
      new (memory.data()) MarkovPredictor({slots, options.transitions}, options.block_bytes);
  ByteReader model(options.earlier);
  return options.earlier.empty() || predictor->load(model);
}

const MarkovPredictor& markov_of(const std::byte* memory) noexcept {
  return *std::launder(reinterpret_cast<const MarkovPredictor*>(memory));
}
// A transition is at most seven varints.
std::size_t markov_saved_bytes(const std::byte* memory) noexcept {
  return markov_of(memory).transitions() * 7 * kMaxVarintBytes + 64;
}
std::size_t keep_markov(const std::byte* memory, std::span<std::byte> out) noexcept {
  ByteWriter model(out);
  return markov_of(memory).save(model) ? model.bytes_used() : 0;
}
static_assert(sizeof(MarkovPredictor) % alignof(MarkovPredictor::Transition) == 0);

bool start_recorded(std::span<std::byte> memory, const PredictorOptions& options) noexcept {
  if (memory.size() < sizeof(PlanPredictor)) return false;
  return (new (memory.data()) PlanPredictor(options.earlier))->is_plan();
}

constexpr PredictorKind kKinds[] = {
    Kind<NestPredictor>::kind("nest"),
    Kind<BestPredictor>::kind("best"),
    Kind<UnitPredictor>::kind("unit"),
    Kind<TreePredictor>::kind("tree"),
    {.name = "markov",
     .bytes = markov_bytes,
     .start = start_markov,
     .observe = Kind<MarkovPredictor>::observe,
     .predict = Kind<MarkovPredictor>::predict,
     .saved_bytes = markov_saved_bytes,
     .keep = keep_markov},
    Kind<StridePredictor>::kind("stride"),
    Kind<ReadaheadPredictor>::kind("readahead"),
    {.name = "recorded",
     .bytes = Kind<PlanPredictor>::bytes,
     .start = start_recorded,
     .observe = Kind<PlanPredictor>::observe,
     .predict = Kind<PlanPredictor>::predict},
};

}  // namespace

std::span<const PredictorKind> predictor_kinds() noexcept {
  return kKinds;
}

const PredictorKind* predictor_kind(std::string_view name) noexcept {
  for (const PredictorKind& kind : kKinds) {
    if (kind.name.size() == name.size() &&
        std::memcmp(kind.name.data(), name.data(), name.size()) == 0) {
      return &kind;
    }
  }
  return nullptr;
}

}  // namespace iotune::patterns
