#include "analyzer/summarize.h"
#include "patterndb/exploration.h"
#include "patterndb/observe.h"
#include "patterndb/pattern_db.h"
#include "patterndb/spool.h"

namespace iotune::patterndb {

Result<std::string> observe(const std::string& trace_path, const std::string& spool) noexcept {
  return guarded<std::string>([&]() -> std::string {
    auto summary = analyzer::summarize(trace_path);
    if (!summary) throw Fault{summary.error().text()};
    Observation observation = observation_of(*summary, trace_path);
    // Nobody drew whether these got their settings: they say nothing in a test that rests on it.
    for (ObservedFile& file : observation.files) {
      const bool settings = file.decision_source == "exact" || file.decision_source == "similar";
      if (settings && !exploration_is_on()) file.decision_source = "held";
    }
    if (observation.files.empty()) return {};
    Result<std::string> path = leave_in_spool(observation, spool);
    if (!path) throw Fault{path.error().text()};
    return *path;
  });
}

void fold_spool(const std::string& database, const std::string& spool) noexcept {
  // A program waits for its end: a lock held longer than this leaves the spool for later.
  constexpr int kFoldMilliseconds = 20;
  constexpr std::size_t kMostFolded = 64;
  if (!has_spool_files(spool)) return;
  Result<PatternDb> db = PatternDb::open(database, {Access::kCreate, kFoldMilliseconds});
  if (db) static_cast<void>(db->ingest_spool(spool, kMostFolded));
}

}  // namespace iotune::patterndb
