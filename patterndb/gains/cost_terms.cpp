#include "patterndb/gains/cost_terms.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace iotune::patterndb {

namespace {

// The names are resolved when this is compiled: one that is not there does not compile.
template <std::size_t kAt>
double value(const Features& features) {
  return features[kAt];
}
#define FEATURE(name) value<feature_place(name)>(features)
#define COUNT(name) std::exp2(value<feature_place(name)>(features))

}  // namespace

CostTerms cost_terms(const Features& features) noexcept {
  const double two_phase = FEATURE("is_two_phase");
  const double calls = COUNT("log2_calls");
  const double system_calls = COUNT("log2_system_calls");
  const bool striped = FEATURE("log2_stripe_count") > 0 || FEATURE("log2_stripe_bytes") > 0;
  const double moved_bytes = COUNT("log2_call_bytes") * system_calls;
  const double writers = COUNT("log2_aggregators");
  // Where a call begins at a multiple of the stripe, it reaches into no further one.
  const double stripe_bytes = COUNT("log2_stripe_bytes");
  const bool aligned = COUNT("log2_alignment_bytes") >= stripe_bytes;
  const double split_share = aligned ? 0.0 : std::min(1.0, COUNT("log2_call_bytes") / stripe_bytes);
  const double pieces = COUNT("log2_pieces") * calls;
  const double chunks = COUNT("log2_chunks_of_a_rank");
  const double chunk_bytes = FEATURE("is_chunked") * COUNT("log2_chunk_bytes") * chunks * calls;
  const double cached = std::min(1.0, COUNT("log2_cached_chunks") / chunks);
  return {
      1.0,
      calls,
      system_calls,
      moved_bytes,
      pieces,
      two_phase * pieces,
      FEATURE("is_sieved") * pieces,
      FEATURE("is_sieved") * moved_bytes,
      two_phase * COUNT("log2_rank_bytes") * calls,
      two_phase * COUNT("log2_aggregator_bytes") * calls,
      two_phase * COUNT("log2_exchanges") * COUNT("log2_ranks") * calls,
      writers * system_calls,
      writers * moved_bytes,
      striped ? writers * moved_bytes / COUNT("log2_stripe_count") : 0.0,
      COUNT("log2_ranks_of_a_stripe") * system_calls,
      striped ? split_share * system_calls : 0.0,
      chunk_bytes,
      chunk_bytes * (1.0 - cached),
      FEATURE("log2_reserved_ratio") > 0 ? 1.0 : 0.0,
  };
}

}  // namespace iotune::patterndb
