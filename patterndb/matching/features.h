// What a pattern and the settings that it may run with are, as numbers with a meaning: what models
// are fitted to. One function for training (Python) and for a decision at run time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "patterndb/settings/settings.h"
#include "patterndb/store/byte_key.h"

namespace iotune::patterndb {

// What a pattern runs on and amounts to.
struct FeatureQuestion {
  std::uint64_t nodes = 1;
  std::uint64_t datasets = 1;
  std::uint64_t repeats = 1;  // of the whole pattern, in one file
  bool striped = false;       // Lustre, CephFS: a new file's layout can be chosen
  // Of the file as it is made without settings; 0: not known.
  std::uint64_t stripe_count = 0, stripe_bytes = 0;
};

// Names are persistent: a model is stored with those that it was fitted to. "log2" ones are
// logarithms of numbers that are at least 1, so that none is infinite.
inline constexpr const char* kFeatureNames[] = {
    // Of the pattern.
    "is_write", "is_collective", "is_chunked", "is_compressed",
    "is_interleaved",         // other ranks' bytes lie between the pieces of one
    "log2_ranks",             //
    "log2_ranks_per_node",    //
    "log2_piece_bytes",       // that a rank moves without a gap
    "log2_pieces",            // of a rank and dataset
    "log2_gap_bytes",         // of other ranks, between two pieces of one
    "log2_rank_bytes",        // of one call: a rank's share of a dataset
    "log2_file_bytes",        // of all datasets
    "log2_calls",             // of a rank at the layer that the program calls
    "log2_element_bytes",     //
    "log2_chunk_bytes",       // 0 where it is not chunked
    "log2_chunks_of_a_rank",  // that its share of a dataset touches
    // Of the settings, with what holds where they say nothing.
    "is_two_phase",            // ranks exchange, aggregators write
    "is_sieved",               // gaps are moved too
    "log2_aggregators",        //
    "log2_buffer_bytes",       // of an exchange, or of the sieve
    "log2_aggregator_bytes",   // of a call: what one aggregator moves
    "log2_exchanges",          // of a call and aggregator
    "log2_system_calls",       // of the busiest process, in all
    "log2_call_bytes",         // that a system call moves
    "log2_moved_ratio",        // bytes that are moved over those that were asked for
    "log2_stripe_count",       // 0 where the file system has no stripes
    "log2_stripe_bytes",       //
    "log2_stripes_of_a_rank",  // that its share of a dataset touches
    "log2_ranks_of_a_stripe",  // that write into one stripe at once
    "log2_alignment_bytes",    // 0: none
    "log2_reserved_ratio",     // bytes reserved (fallocate) over the file's; 0: none
    "log2_cached_chunks",      // that the chunk cache holds
    "log2_metadata_bytes",     // of HDF5's blocks for metadata
    "log2_sieve_bytes",        // of HDF5's own sieve
};
inline constexpr std::size_t kFeatureCount = sizeof kFeatureNames / sizeof *kFeatureNames;
// Those before are of the pattern alone.
inline constexpr std::size_t kPatternFeatureCount = 16;
using Features = std::array<double, kFeatureCount>;

// Of a name that is there; another does not compile.
consteval std::size_t feature_place(std::string_view name) {
  std::size_t at = 0;
  while (name != kFeatureNames[at]) ++at;
  return at;
}

// False where the pattern has no geometry (patterndb/matching/geometry.h): nothing is known of it
// then. What is not known of the question counts as its default.
bool features_of(const Pattern& pattern, const FeatureQuestion& question, const Settings& settings,
                 Features& features);

}  // namespace iotune::patterndb
