// A container as a directory (FORMAT.md): made, and read with all its writers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "logstore/format.h"
#include "logstore/read/files.h"
#include "logstore/read/limits.h"
#include "logstore/read/log_map.h"

namespace iotune::logstore {

// Makes a container at `path`, where nothing is yet: in a directory beside it that is then renamed,
// so that nobody sees half of one. Durable when it returns.
[[nodiscard]] std::optional<Error> make_container(const std::string& path,
                                                  const Description& description);

// What compaction left in a container or has to look at, beside what a reader needs.
struct CompactionTraces {
  std::uint64_t generation = 0;           // of the merged index; 0: there is none
  std::string merged_damage;              // what is wrong with it: the single indexes are read
  std::uint64_t merged_bytes = 0;         // of its file
  std::vector<CoveredWriter> covered;     // by it, in the order of the map
  std::vector<std::string> spare_files;   // that nobody needs: of a compaction that was cut short
  std::map<std::string, std::int64_t> single_indexes;  // that were read: bytes, by writer
  bool has_grown = false;  // a writer went on after it was covered: it did not take its lock
};

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
  bool is_replaced() const noexcept {
    return identity_of(directory_.get(), kMergedName) != merged_;
  }
  // Names in the directory that belong to nothing.
  const std::vector<std::string>& strangers() const noexcept { return strangers_; }

  // Reads what is at `offset`: as many bytes as `to` has, fewer only at the end of the file. An
  // error where bytes are missing, and where a log cannot be read. Opens the logs that it needs,
  // and closes them again: ContainerReader keeps them.
  Result<std::size_t> read(std::int64_t offset, std::span<std::byte> to) const;

 private:
  std::optional<Error> read_writers(const ReadLimits& limits, Logs logs);

  std::string path_;
  Descriptor directory_;
  Description description_{};
  LogMap map_;
  std::vector<WriterReport> reports_;
  std::vector<std::string> strangers_;
  CompactionTraces compaction_;
  FileIdentity merged_;
};

}  // namespace iotune::logstore
