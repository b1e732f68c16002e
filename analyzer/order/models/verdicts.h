// Which conflicts of traces are properly synchronised under which model.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/order/conflicts.h"
#include "analyzer/order/models/happens_before.h"
#include "recorder/read/trace_blocks/trace_index.h"

namespace iotune::analyzer {

constexpr std::size_t kModels = std::size(kConsistencyModels);

// Conflicts of one kind between two call sites, of all processes that made such calls.
struct SiteVerdict {
  ConflictKind kind;
  std::string first, second;  // the write first
  std::uint64_t pairs = 0;
  struct Model {
    std::uint64_t wrong = 0;  // pairs that are not properly synchronised
    // One of them, the earlier call first where an order is known, and what would make it right.
    std::optional<std::pair<ConflictPlace, ConflictPlace>> example;
    std::string missing;
  };
  Model models[kModels];
};

struct FileVerdict {
  std::uint32_t file;
  std::uint64_t pairs = 0;
  std::uint64_t wrong[kModels] = {};
  std::vector<SiteVerdict> sites;  // the most pairs first
};

struct TraceVerdict {
  TraceAccesses accesses;
  bool order_recorded = false;     // of some process at least
  std::vector<FileVerdict> files;  // those with conflicts
  std::vector<OrderUnknown> unknown;
};

TraceVerdict verify_traces(std::span<const recorder::TraceIndex> traces);

// Pairs of the group that are not properly synchronised.
std::uint64_t count_wrong(const ConflictGroup& group, const HappensBefore& order,
                          ConsistencyModel model);

}  // namespace iotune::analyzer
