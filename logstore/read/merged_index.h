// One file in place of the indexes of many writers (FORMAT.md, merged.index): as bytes and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/index/offset_index.h"
#include "logstore/read/limits.h"
#include "recorder/read/result.h"

namespace iotune::logstore {

using recorder::Error;
using recorder::Result;

// Times of what a merged index holds count from here, for kMergedTimes ns: before all times that
// an index of a writer can tell of. So whatever is not covered is later.
inline constexpr std::int64_t kMergedBegin = INT64_MIN + 1;
inline constexpr std::int64_t kMergedTimes = std::int64_t{1} << 60;

// Of a writer whose index is part of the merged one.
struct CoveredWriter {
  std::int64_t index_bytes = 0;  // of its own index, that are covered; 0: it never had one
  std::int64_t log_bytes = 0;    // all of them on the storage
};

struct MergedIndex {
  std::uint64_t container_id = 0;
  std::uint64_t generation = 0;        // one more than that of the merged index before it
  std::int64_t size = 0;               // of the file, in bytes
  bool is_synced = true;               // it and all logs that it covers were on the storage
  std::vector<CoveredWriter> covered;  // by stream of `parts`, which has their names
  std::vector<std::string> retired;    // writers whose logs nobody needs any more
  analyzer::IndexParts parts;          // times count from 0; below kMergedTimes
};

std::vector<std::byte> write_merged_index(const MergedIndex& merged);

// Either the content, or what is wrong with it.
struct MergedBytes {
  std::optional<MergedIndex> merged;
  std::string damage;
};
// An error for a newer version, unknown flags, another container, and beyond the limits.
Result<MergedBytes> read_merged_index(std::span<const std::byte> bytes, std::uint64_t container_id,
                                      const ReadLimits& limits);

// Is it what a compaction calls its logs? "compacted." and a number.
bool is_compacted_name(const std::string& writer);
std::string compacted_name(std::uint64_t generation);

}  // namespace iotune::logstore
