// Counts of what moving a file costs, for the busiest process: a cost model has a price for each.
#pragma once

#include <array>
#include <cstddef>

#include "patterndb/matching/features.h"

namespace iotune::patterndb {

// A model is stored with one price for each, in this order.
inline constexpr const char* kCostTermNames[] = {
    "files",              // 1
    "calls",              // at the layer that the program calls
    "system_calls",       //
    "moved_bytes",        // by system calls
    "pieces",             // of a rank, whatever moves them
    "exchanged_pieces",   // where ranks exchange: each is sorted by the aggregators
    "sieved_pieces",      // copied out of the sieve or into it
    "exchanged_bytes",    // of a rank, where ranks exchange
    "exchange_messages",  // rounds of the exchange times ranks
    "target_bytes",       // that one storage target gets, where a file is striped
    "shared_writes",      // system calls times the writers that a stripe has at once
    "chunk_bytes",        // of the chunks that a rank touches
    "chunk_bytes_again",  // of those that the chunk cache does not hold
    "reservations",       // 1 where room is reserved
};
inline constexpr std::size_t kCostTermCount = sizeof kCostTermNames / sizeof *kCostTermNames;
using CostTerms = std::array<double, kCostTermCount>;

// Of one file. None is negative.
CostTerms cost_terms(const Features& features) noexcept;

}  // namespace iotune::patterndb
