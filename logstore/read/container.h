// A container as a directory (FORMAT.md), read with all its writers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "logstore/format.h"
#include "logstore/read/compaction_traces.h"
#include "logstore/read/container_files.h"
#include "logstore/read/limits.h"
#include "logstore/read/log_map.h"
#include "logstore/read/read_plan.h"

namespace iotune::logstore {

// An open container, as it was when it was read. Who wants later writes reads it again.
class Container {
 public:
  // How long the logs are that the merged index covers is known from it. Who verifies looks.
  enum class Logs : std::uint8_t { kTrustMerged, kLookAtAll };

  // Errors where `path` is no container, one of a newer version, or beyond the limits, and where
  // something in it cannot be read. Damage is none: reports() says what is lost.
  static Result<Container> open(const std::string& path, const ReadLimits& limits = {},
                                Logs logs = Logs::kTrustMerged);

  // Is there a description? To tell containers from directories; nothing else is looked at.
  static bool is_at(const std::string& path);

  const Description& description() const noexcept { return description_; }
  const LogMap& map() const noexcept { return map_; }
  const std::vector<WriterReport>& reports() const noexcept { return reports_; }
  const CompactionTraces& compaction() const noexcept { return compaction_; }
  const std::string& path() const noexcept { return path_; }
  int directory() const noexcept { return directory_.get(); }
  // Was it compacted since it was read? Then the logs that it names may be gone: who fails to read
  // one opens the container again.
  bool is_replaced() const noexcept { return merged_identity(directory_.get()) != merged_; }
  // Names in the directory that belong to nothing.
  const std::vector<std::string>& strangers() const noexcept { return strangers_; }
  // Bytes in the handle: a program wrote there that went past the log store.
  std::int64_t handle_bytes() const noexcept { return handle_bytes_; }

  // Reads what is at `offset`: as many bytes as `to` has, fewer only at the end of the file. An
  // error where bytes are missing, and where a log cannot be read. Any thread may ask. Some logs
  // are kept open.
  Result<std::size_t> read(std::int64_t offset, std::span<std::byte> to) const;
  // What is planned, of logs by the map's numbers: `to` has room for it.
  std::optional<Error> run(ReadPlan& plan, std::byte* to) const;
  // Of bytes that are missing.
  Error lost_bytes(const LogPiece& piece) const;

 private:
  std::optional<Error> read_writers(const ReadLimits& limits, Logs logs);

  std::string path_;
  Descriptor directory_;
  Description description_{};
  LogMap map_;
  std::vector<WriterReport> reports_;
  std::vector<std::string> strangers_;
  std::int64_t handle_bytes_ = 0;
  CompactionTraces compaction_;
  MergedIdentity merged_;
  std::unique_ptr<OpenLogs> logs_;
};

}  // namespace iotune::logstore
