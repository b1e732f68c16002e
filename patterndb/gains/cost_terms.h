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
    "sieved_bytes",       // moved through the sieve, and locked meanwhile where they are written
    "exchanged_bytes",    // of a rank, where ranks exchange
    "aggregated_bytes",   // of an aggregator: what is exchanged is moved once more
    "exchange_messages",  // rounds of the exchange times ranks
    "storage_calls",      // of all processes: what a server or a file's lock takes one by one
    "storage_bytes",      // of all processes
    "target_bytes",       // that one storage target moves, where a file is striped
    "shared_writes",      // system calls times the writers that a stripe has at once
    "split_calls",        // system calls that reach into one stripe more than their bytes fill
    "chunk_bytes",        // of the chunks that a rank touches
    "chunk_bytes_again",  // of those that the chunk cache does not hold
    "reservations",       // 1 where room is reserved
};
inline constexpr std::size_t kCostTermCount = sizeof kCostTermNames / sizeof *kCostTermNames;
using CostTerms = std::array<double, kCostTermCount>;

// Of one file. None is negative.
CostTerms cost_terms(const Features& features) noexcept;

}  // namespace iotune::patterndb
