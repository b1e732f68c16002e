#include "analyzer/summary/summarize.h"
#include "core/words/decision_words.h"
#include "patterndb/decide/exploration.h"
#include "patterndb/learn/observe.h"
#include "patterndb/store/pattern_db.h"
#include "patterndb/store/spool.h"

namespace iotune::patterndb {

namespace {

// A program waits for its end: what a lock holds for longer waits in the spool.
constexpr int kWaitMilliseconds = 20;

Observation observed(const std::string& trace_path) {
  auto summary = analyzer::summarize(trace_path);
  if (!summary) throw Fault{summary.error().text()};
  Observation observation = observation_of(*summary, trace_path);
  // Nobody drew whether these got their settings: they say nothing in a test that rests on it.
  for (ObservedFile& file : observation.files) {
    const bool settings = is_of_database(source_named(file.decision_source));
    if (settings && !exploration_is_on()) file.decision_source = "held";
  }
  return observation;
}

std::string spooled(const Observation& observation, const std::string& spool,
                    const std::string& name) {
  return value_or_fault(leave_in_spool(observation, spool, name));
}

}  // namespace

Result<std::string> observe(const std::string& trace_path, const std::string& spool) noexcept {
  return guarded<std::string>([&]() -> std::string {
    const Observation observation = observed(trace_path);
    return observation.files.empty() ? std::string() : spooled(observation, spool, {});
  });
}

void fold_spool(const std::string& database, const std::string& spool,
                const std::vector<std::string>& lower) noexcept {
  constexpr std::size_t kMostFolded = 64;
  if (!has_spool_files(spool)) return;
  Result<PatternDb> db = PatternDb::open(database, {Access::kCreate, kWaitMilliseconds, lower});
  if (db) static_cast<void>(db->ingest_spool(spool, kMostFolded));
}

Result<std::string> keep(const Observation& observation, const std::string& database,
                         const std::string& spool, const std::string& name,
                         const std::vector<std::string>& lower) noexcept {
  return guarded<std::string>([&]() -> std::string {
    Result<PatternDb> db = PatternDb::open(database, {Access::kCreate, kWaitMilliseconds, lower});
    if (db && db->add_observation(observation, name)) return {};
    return spooled(observation, spool, name);
  });
}

}  // namespace iotune::patterndb
