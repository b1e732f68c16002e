// What the database answered in this run. A series of files asks the same question at each open,
// between two transfers, where all memory is cold: an answer is found again by comparing in place,
// without a copy of the question. Lives in the one process that decides, as long as the run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "patterndb/decide/decide.h"
#include "patterndb/store/result.h"

namespace iotune::patterndb {

// Which file the database is, and of when: an answer holds as long as it is the same. The
// connection itself cannot be kept: the program may close descriptors that it never opened, and
// hand their numbers to files of its own.
struct DatabaseFile {
  std::int64_t device = 0, inode = 0, bytes = 0, seconds = 0, nanoseconds = 0;
  bool operator==(const DatabaseFile&) const = default;
};
// Zeros where there is none; nothing where that is not known.
std::optional<DatabaseFile> database_file(const std::string& path);

class RunAnswers {
 public:
  struct Answer {
    Result<Decision> decision;
    // The struct of decision.h where it is the whole answer, whatever the run's earlier files were;
    // else empty.
    std::string bytes;
  };

  // The same question was answered: of a file of the same name but for its digits, in the same
  // folder. nullptr: it was not. Valid until the next keep().
  const Answer* find(const iotune_question& question, const DatabaseFile& database) const;
  // The oldest gives way where there are too many. `by_name`: it is for this very name.
  void keep(const iotune_question& question, const DatabaseFile& database, Answer answer,
            bool by_name);

 private:
  struct Kept {
    std::string key;  // in one piece: it is compared from cold memory
    Answer answer;
    bool by_name;
  };
  std::vector<Kept> kept_;
};

}  // namespace iotune::patterndb
