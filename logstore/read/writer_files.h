// The files of a container's writers and its merged index, as what LogMap::merge() takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "logstore/read/compaction_traces.h"
#include "logstore/read/container_files.h"
#include "logstore/read/log_map.h"

namespace iotune::logstore {

// Its functions are called in their order, once each.
class WriterFilesReader {
 public:
  WriterFilesReader(int directory, const ReadLimits& limits, ContainerNames& names)
      : directory_(directory), limits_(limits), names_(names) {}

  // Damage of the merged index is no error.
  std::optional<Error> read_merged(std::uint64_t container_id, CompactionTraces& traces);
  // The writers that it covers, and takes them out of the names.
  std::optional<Error> read_covered(bool look_at_logs, CompactionTraces& traces);
  // The writers that are left.
  std::optional<Error> read_others(CompactionTraces& traces);

  // The bytes are good as long as this object.
  std::vector<WriterBytes> take_writers() { return std::move(writers_); }
  const CoveredBytes* covered() const { return covered_ ? &*covered_ : nullptr; }
  // The merged index itself, should somebody keep it; covered() is gone then.
  std::optional<MergedIndex> take_merged() {
    covered_.reset();
    return std::move(merged_);
  }

 private:
  Result<std::vector<std::byte>> read_index(const std::string& name);
  Result<std::int64_t> size_of(const std::string& name) const;

  int directory_;
  ReadLimits limits_;
  ContainerNames& names_;
  std::uint64_t index_bytes_ = 0;
  std::optional<MergedIndex> merged_;
  std::optional<CoveredBytes> covered_;
  std::vector<WriterBytes> writers_;
  std::vector<std::vector<std::byte>> indexes_;
};

}  // namespace iotune::logstore
