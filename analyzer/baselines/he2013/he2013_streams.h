// The papers' algorithms on the streams of a trace: local entries of each process, joined over all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/streams/analyze_part.h"
#include "recorder/read/result.h"

namespace iotune::analyzer {

struct He2013Entry {
  std::string text;        // units of offsets, lengths and, where it was joined, ids
  std::uint64_t accesses;  // that it represents
};

// All streams of one file, layer and direction: one index of the papers.
struct He2013Streams {
  std::string name;  // as in analyze_part.h
  std::uint64_t streams = 0, accesses = 0, bytes = 0, right = 0;
  std::uint64_t local_entries = 0, local_bytes = 0;  // patterns and raw, of all processes
  // Nothing where there are too many entries to be joined in memory.
  std::optional<std::uint64_t> global_entries, global_bytes;
  std::vector<He2013Entry> shown;          // of the joined index, in the order of offsets
  std::vector<patterns::Prediction> next;  // of the first stream
};

struct He2013Done {
  std::vector<He2013Streams> names;  // in the order of first use
  std::uint64_t accesses = 0, without_place = 0, empty = 0;
  std::vector<std::string> losses;
};

// Holds the entries of all processes, as the papers' index does, up to `most_entries`; what is
// beyond is counted and not joined.
recorder::Result<He2013Done> he2013_streams(const std::string& trace, const PartOptions& options,
                                            std::size_t shown, std::size_t most_entries,
                                            const std::function<void(std::uint64_t)>& progress);

}  // namespace iotune::analyzer
