// What the environment asks for: IOTUNE_PREFETCH and IOTUNE_PREFETCH_SCHEDULE (docs/prefetch.md).
#pragma once

#include <cstdint>

#include "patterns/predict/predictors.h"
#include "prefetch/preload/library_interface.h"
#include "prefetch/preload/schedules.h"

namespace iotune::prefetch {

// How what was predicted reaches the program.
enum class Delivery : std::uint8_t {
  kHint,   // by the page cache, which is asked to have it
  kCache,  // out of memory of our own, where nobody of the job may write to the file
};

struct PrefetchOptions {
  const patterns::PredictorKind* kind = nullptr;  // nullptr: nothing is prefetched
  const char* name = "none";
  bool keeps = false;                  // the predictor keeps something over runs
  const Schedule* schedule = nullptr;  // not nullptr where something is prefetched
  Delivery delivery = Delivery::kHint;
  std::uint64_t memory_bytes = 0;  // of the cache
};

// Says on stderr what it does not know; that counts as none.
PrefetchOptions read_options(const PrefetchHost& host) noexcept;

}  // namespace iotune::prefetch
