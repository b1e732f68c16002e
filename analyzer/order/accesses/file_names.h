// Which file a name meant at a time: names are deleted, made anew, moved and linked while programs
// run. What lay under two names before the run began, and folders that are moved, are not seen.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/order/accesses/access_runs.h"
#include "recorder/read/trace_blocks/trace_index.h"

namespace iotune::analyzer {

class FileNames {
 public:
  FileNames() = default;
  // With all changes of names that the processes of the traces made, in the order of the clock.
  explicit FileNames(std::span<const recorder::TraceIndex> traces);

  // The names' changes, in the order of their times; times are Unix time.
  void deleted(const std::string& path, std::uint64_t at_ns);
  void moved(const std::string& from, const std::string& to, std::uint64_t at_ns);
  void linked(const std::string& from, const std::string& to, std::uint64_t at_ns);
  void exchanged(const std::string& one, const std::string& other, std::uint64_t at_ns);

  // The number of the file that is opened by that name then.
  std::uint32_t file_at(std::string_view path, std::uint64_t at_ns);
  std::uint32_t count() const { return static_cast<std::uint32_t>(files_.size()); }
  std::vector<AccessedFile> take_files() { return std::move(files_); }

 private:
  struct Meaning {
    std::uint64_t from_ns;
    std::uint32_t file;
  };
  static constexpr std::uint32_t kNotYetOpened = UINT32_MAX;

  std::vector<Meaning>& meanings_of(const std::string& path);
  std::uint32_t meant(std::vector<Meaning>& meanings, const std::string& path, std::uint64_t at_ns);

  std::vector<AccessedFile> files_;
  std::unordered_map<std::string, std::vector<Meaning>> names_;  // meanings with rising times
};

// An absolute path without "." and "..", of a name that a process of that working directory used.
std::string plain_path(std::string_view name, std::string_view directory);

}  // namespace iotune::analyzer
