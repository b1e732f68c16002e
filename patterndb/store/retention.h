// Which observations stay rows. Of one kind (a workload's pattern on a platform, under settings
// that one decision gave, in files of one size within a tenth) the newest are kept. What is older
// is added up in the table `totals`, so that no sum forgets it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "patterndb/store/sqlite.h"

namespace iotune::patterndb {

// The test of an answer looks at 16 earlier runs (learning.cpp), and a file's name is confirmed by
// up to 64 files of the run before (workload_names.cpp): so many runs of so many rows are kept.
inline constexpr std::size_t kRowsOfARun = 64, kKeptRows = 16 * kRowsOfARun;

// The rows of one spool file, ?N, found by its name and by no other index: a kind has many rows, a
// spool file few.
#define IOTUNE_OF_SPOOL_FILE(n) "(SELECT * FROM observations WHERE spool_file = " n " LIMIT -1) "

// What rows of one kind have in common. pattern: 0 for none.
struct Kind {
  std::int64_t workload, platform, pattern, settings, decision_row;
  std::string decision_source;
  std::int64_t size;  // size_class()

  bool operator==(const Kind&) const = default;
};

// Which tenth an amount of bytes lies in: two of one class differ by a tenth at most.
std::int64_t size_class(std::uint64_t bytes);

// Whether rows as old as this one were dropped: so it was counted before, or came too late.
bool came_too_late(sqlite::Connection& connection, const Kind& kind, double observed_at);

// Drops at most `most` of the rows that are not among the newest of their kind, the oldest first,
// and adds them up. Returns how many.
std::size_t keep_newest(sqlite::Connection& connection, const Kind& kind, std::size_t most);

// The same for every kind, without a limit.
std::size_t keep_newest_of_all(sqlite::Connection& connection);

// For rows of versions before 6.
void fill_sizes(sqlite::Connection& connection);

}  // namespace iotune::patterndb
