// Every predictor behind one interface, in memory that the caller owns: for the prefetcher, which
// has one a stream and learns at run time which kind it is to be.
//
//   const PredictorKind* kind = predictor_kind("nest");
//   kind->start(memory, options);           // memory of kind->bytes(options), for max_align_t
//   kind->observe(memory, access);
//   Prediction next[8];
//   unsigned n = kind->predict(memory, next);
//
// No function allocates, throws, or keeps anything outside of the memory. There is nothing to end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "patterns/extent.h"
#include "patterns/predict/prediction.h"

namespace iotune::patterns {

struct PredictorOptions {
  std::int64_t block_bytes = 8192;       // "markov": of a block
  std::size_t transitions = 16384;       // "markov": room for so many
  std::span<const std::byte> earlier{};  // "markov": a saved model, or nothing; "recorded": a plan;
                                         // that one must outlive the predictor
};

struct PredictorKind {
  std::string_view name;  // nest, best, unit, tree, markov, stride, readahead, recorded
  std::size_t (*bytes)(const PredictorOptions&) noexcept;
  // False, with nothing started, if the memory is too small or what is earlier is damaged.
  bool (*start)(std::span<std::byte> memory, const PredictorOptions&) noexcept;
  void (*observe)(std::byte* memory, Extent access) noexcept;
  // Fills `out` from its front with what comes next; returns how many it could.
  unsigned (*predict)(const std::byte* memory, std::span<Prediction> out) noexcept;
  // What it has learnt, as bytes for a later run's `earlier`: how many at most, and those, of which
  // it returns how many there are, 0 where there is nothing to keep. nullptr: it keeps nothing.
  std::size_t (*saved_bytes)(const std::byte* memory) noexcept = nullptr;
  std::size_t (*keep)(const std::byte* memory, std::span<std::byte> out) noexcept = nullptr;
};

std::span<const PredictorKind> predictor_kinds() noexcept;
// nullptr if there is none of that name.
const PredictorKind* predictor_kind(std::string_view name) noexcept;

}  // namespace iotune::patterns
