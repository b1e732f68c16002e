// Which files of a program are one workload. Files whose names differ in numbers alone are one
// (a series of checkpoints), unless one run writes them with different patterns: then the numbers
// that tell these apart stay in the workload's name (out_h0_#.nc and out_h1_#.nc).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "patterndb/store/records.h"
#include "patterndb/store/sqlite.h"

namespace iotune::patterndb {

struct StoredName {
  std::string file;            // as the workload is stored; masked where none is
  bool distinguished = false;  // some workload of this masked name keeps a number
};
// `workload.file` is a base name, with its numbers or masked.
StoredName stored_name(sqlite::Connection& connection, const Workload& workload);

// A file of one run.
struct NamedFile {
  std::string name;      // base name
  std::string patterns;  // of its dominant datasets, as one text
};
// The positions of the numbers that tell apart the patterns of files that have one masked name;
// empty where none do, or where they may as well count the files of a series.
// `confirmed`: an earlier run showed each of these very names with the same patterns.
std::vector<std::size_t> telling_numbers(const std::vector<NamedFile>& files, bool confirmed);

// The base name with all numbers masked but those at `kept`.
std::string masked_but(const std::string& name, const std::vector<std::size_t>& kept);

// The workload's file name for each file of one run, in their order.
std::vector<std::string> workload_files(sqlite::Connection& connection,
                                        const Observation& observation);

}  // namespace iotune::patterndb
