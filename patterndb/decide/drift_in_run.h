// A workload that changes (a new deck, other sizes) is noticed at its first file: each file of a
// run whose answer is applied is compared, once it is closed, with what the workload's file was
// when the answer was found. Lives in the one process that decides, as long as the run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "patterndb/decide/decide.h"

namespace iotune::patterndb {

class DriftTable {
 public:
  // Settings of `decision` are to be applied to the new file of `question`.
  void follow(const Question& question, const Decision& decision);

  // The file was closed, with so many bytes in the file system.
  void closed(const std::string& file, std::uint64_t bytes, bool collective);

  // Why the answer of `decision` is not trusted for the rest of the run; empty: nothing speaks
  // against it.
  std::string reason(const Question& question, const Decision& decision) const;
  // No workload was ever followed, so that there is no reason for any.
  bool follows_nothing() const { return by_workload_.empty(); }

 private:
  struct Followed {
    std::string file;  // empty: none of this workload is open
    std::vector<KnownFile> known;
    std::string reason;
  };
  std::map<std::string, Followed> by_workload_;
};

// What does not fit the newest, in words; empty where all may be as it was with one of them. Sizes
// are compared with room for what HDF5 and alignment add; of a file of headers alone nothing is
// said, its datasets may follow when it is opened again.
std::string misfit(const std::vector<KnownFile>& known, std::uint64_t bytes, bool collective);

}  // namespace iotune::patterndb
