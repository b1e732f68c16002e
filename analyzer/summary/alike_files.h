// Files that people are shown together, folded while they are taken: memory grows with what they
// did and not with their number.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/summary/run_summary.h"

namespace iotune::analyzer {

// Files whose paths differ by their numbers alone and of which the same is said, but for times; of
// a run with more than kMostEntries of such, also files of other patterns (`mixed`), and at last
// all of one folder and ending.
struct AlikeFiles {
  FilePattern shown;  // the first one; the largest one where they are mixed
  std::string name;   // one path for all: # where numbers differ, * for names that differ otherwise
  bool mixed = false;
  std::uint64_t files = 1;
  std::uint64_t bytes_written, bytes_read;  // of all
  std::uint64_t least_bytes, most_bytes;    // moved of one
  double least_seconds, most_seconds;       // of I/O, of one
};

// FilePattern's, and where they are several what all have, as `alike`.
std::string to_json(const AlikeFiles& alike);

class FileFolder {
 public:
  static constexpr std::size_t kMostEntries = 4096;

  explicit FileFolder(std::size_t most_entries = kMostEntries) : most_entries_(most_entries) {}

  void take(FilePattern&& file);
  // In the order of the first file of each. Two alike files are two.
  void each(const std::function<void(const AlikeFiles&)>& visit) const;

 private:
  enum class Level : std::uint8_t { kSame, kNamedAlike, kInFolder };
  struct Entry {
    std::uint64_t number;  // of its first file
    AlikeFiles alike;
    std::string outcome;            // what must be equal on any level
    std::string said;               // all that is said
    std::unique_ptr<Entry> second;  // as long as there is no third file
  };

  void add(Entry&& entry);
  void fold_further();
  std::string key_of(const Entry& entry) const;

  std::size_t most_entries_;
  Level level_ = Level::kSame;
  std::uint64_t taken_ = 0;
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::size_t> places_;
};

}  // namespace iotune::analyzer
