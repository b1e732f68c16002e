// The runs of all ranks in the order of a file, in rows that repeat: what arrays are made of.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analyzer/bytes/index_sets.h"

namespace iotune::analyzer {

struct FileRun {
  std::uint64_t start, bytes;
  std::uint32_t rank;  // counted as the sets are
};

// All runs in the order of the file. `cuts`: of each rank, ascending, where its runs are taken for
// two; or none. Nothing where there are more runs than memory is wanted for.
std::vector<FileRun> runs_of(const IndexSets& ranks,
                             const std::vector<std::vector<std::uint64_t>>& cuts);

// A form that stands in one place or more: a row, which is one run for each of some ranks, or a
// loop of forms at equal steps.
struct RowForm {
  struct Part {
    std::uint64_t at;    // bytes from the form's beginning
    std::uint32_t what;  // a row's rank, counted as the sets are; of a loop the form
    std::uint64_t bytes;
    bool operator==(const Part&) const = default;
  };
  std::vector<Part> parts;
  std::uint64_t bytes = 0;             // from the beginning to the end of the last part
  std::uint64_t count = 1, pitch = 0;  // of a loop; 1: a row
  bool solid = true;                   // no byte of it is left out
};

struct PlacedForm {
  std::uint64_t start;
  std::uint32_t form;
};

struct FileRows {
  std::vector<RowForm> forms;
  std::vector<PlacedForm> items;  // in the order of the file
  std::uint64_t end_of(const PlacedForm& item) const { return item.start + forms[item.form].bytes; }
};

// Of these runs.
FileRows rows_of(const IndexSets& ranks, const std::vector<std::vector<std::uint64_t>>& cuts);

}  // namespace iotune::analyzer
