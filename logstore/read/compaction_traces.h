// What compaction left in a container or has to look at, beside what a reader needs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "logstore/read/merged_index.h"

namespace iotune::logstore {

struct CompactionTraces {
  std::uint64_t generation = 0;          // of the merged index; 0: there is none
  std::string merged_damage;             // what is wrong with it: the single indexes are read
  std::uint64_t merged_bytes = 0;        // of its file
  std::vector<CoveredWriter> covered;    // by it, in the order of the map
  std::vector<std::string> spare_files;  // that nobody needs: of a compaction that was cut short
  std::map<std::string, std::int64_t> single_indexes;  // that were read: bytes, by writer
  bool is_synced = true;                               // the merged index, and all that it covers
  bool has_grown = false;  // a writer went on after it was covered: it did not take its lock
};

}  // namespace iotune::logstore
