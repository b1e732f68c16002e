// The patterns with an answer that lie nearest to one, found by index: a program waits in its open.
#pragma once

#include <string>
#include <vector>

#include "patterndb/matching/geometry.h"
#include "patterndb/store/byte_key.h"
#include "patterndb/store/records.h"
#include "patterndb/store/sqlite.h"

namespace iotune::patterndb {

struct NearPattern {
  double distance = 0;
  std::int64_t id = 0;
  std::string byte_key;
};

// At most `most` byte keys other than the pattern's own that have an answer on the platform,
// nearest first; behind the same wall, on a quarter to four times as many ranks.
std::vector<NearPattern> nearest_answers(sqlite::Connection& db, const std::string& byte_key,
                                         const Pattern& pattern, const Geometry& geometry,
                                         const Platform& platform, std::size_t most);

// The nearest that has no distance because it is behind another wall, only for the words of an
// abstention; none where none is near by its ranks.
std::vector<NearPattern> nearest_behind_walls(sqlite::Connection& db, const std::string& byte_key,
                                              const Pattern& pattern, const Geometry& geometry,
                                              const Platform& platform);

// Fills in what patterns of an older schema lack.
void fill_geometry(sqlite::Connection& db);

// One row's columns from `first` on: see kShapeColumns.
extern const char* const kShapeColumns;
Pattern pattern_row(const sqlite::Statement& row, int first);

// Binds ?1 to ?4, in which look-ups name the platform; an empty name is any.
void bind_platform(sqlite::Statement& statement, const Platform& platform);

}  // namespace iotune::patterndb
