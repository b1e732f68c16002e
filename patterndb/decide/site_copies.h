// Answers of a lower database (a site's) in the user's own: a run that got one leaves a copy of it
// there, and from then on the user's own runs confirm it or take it back. The lower database is
// only read, and other users are not concerned.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "patterndb/store/pattern_db.h"
#include "patterndb/store/records.h"
#include "patterndb/store/sqlite.h"

namespace iotune::patterndb {

// The source of such a copy. Its made_at is that of the answer it was copied from, or of the own
// answer that it replaces, if that is later.
inline constexpr char kCopySource[] = "site";

// Throws Fault.
std::optional<TuningRow> newest_tuning(sqlite::Connection& connection, const std::string& byte_key,
                                       const Platform& platform);

// Whether a lower database's answer holds in place of the user's own newest one: there is none, or
// that goes back to a copy, and the site has measured something else since. (Settings that the
// user's runs have taken back are not tried again because the site measured them once more.)
bool goes_before(const TuningRow& lower, const std::optional<TuningRow>& own);

// The lower databases, while observations become part of the user's own. Each is opened once.
class LowerAnswers {
 public:
  // Those that are not there, and `own` itself, are left out.
  LowerAnswers(const std::vector<std::string>& paths, const std::string& own);

  // Where a lower database's answer was applied to the file: the row of its copy in the user's
  // database, which is made where it is missing. -1: none was, or which one is not known.
  // `pattern`: the one that the file's seconds are booked on.
  std::int64_t copy_of(sqlite::Connection& own, const ObservedFile& file, const Pattern& pattern);

 private:
  struct Given {
    Pattern pattern;  // that the answer is of
    TuningRow answer;
    std::string path;
  };
  std::optional<Given> given(const ObservedFile& file, const Pattern& pattern);

  std::vector<PatternDb> databases_;
};

}  // namespace iotune::patterndb
