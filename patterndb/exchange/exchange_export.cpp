// Everything in a database as one JSON document: format "iotune-patterns", version 5.
#include "patterndb/exchange/exchange.h"
#include "patterndb/gains/stored_gains.h"
#include "patterndb/learn/report.h"
#include "patterndb/settings/proofs.h"
#include "patterndb/store/pattern_db.h"

namespace iotune::patterndb {

namespace {

using sqlite::Connection;

Json all(Connection& connection, const std::string& sql) {
  sqlite::Statement rows(connection, sql);
  return list_of(rows);
}

template <typename Record>
Json all(const std::vector<Record>& records) {
  Json list = Json::array();
  for (const Record& one : records) list.push_back(to_json(one));
  return list;
}

}  // namespace

Result<std::string> PatternDb::export_json() noexcept {
  return guarded<std::string>([&] {
    Connection& db = *connection_;
    sqlite::Transaction one_state(db, sqlite::Transaction::Kind::kRead);
    const Json document = {
        {"format", kExchangeFormat},
        {"version", kExchangeVersion},
        {"platforms",
         all(db, std::string("SELECT f.id, ") + kPlatformColumns + " FROM platforms f ORDER BY 1")},
        {"workloads",
         all(db, std::string("SELECT w.id, ") + kWorkloadColumns + " FROM workloads w ORDER BY 1")},
        {"patterns",
         all(db, std::string("SELECT ") + kPatternColumns + " FROM patterns p ORDER BY 1")},
        {"uses", all(db,
                     "SELECT workload, pattern, dataset, datasets, repeats, speaker AS 'speaker?', "
                     "last_seen, settled AS 'settled?' FROM workload_patterns ORDER BY 1, 2")},
        {"tunings", all(db, std::string("SELECT ") + kTuningColumns +
                                ", t.pattern, t.platform, s.text AS settings, t.evidence, "
                                "t.default_share, t.replaces FROM tunings t "
                                "JOIN settings s ON s.id = t.settings ORDER BY 1")},
        {"observations",
         all(db,
             "SELECT o.spool_file, o.item, o.run, o.trace, o.program_path AS program, "
             "o.file_path AS file, o.workload, o.platform, o.pattern, s.text AS settings, "
             "o.decision_source, o.decision_row, o.bytes_written, o.bytes_read, o.seconds, "
             "o.elapsed_seconds, o.observed_at, o.files "
             "FROM observations o JOIN settings s ON s.id = o.settings ORDER BY o.id")},
        {"sightings", all(db,
                          "SELECT workload, platform, pattern, first_at, last_at, runs "
                          "FROM sightings ORDER BY 1, 2, 3")},
        {"totals", all(db,
                       "SELECT o.workload, o.platform, nullif(o.pattern, 0) AS pattern, "
                       "s.text AS settings, o.explored AS 'explored?', o.size, o.rate, o.files, "
                       "o.runs, o.bytes, o.seconds, o.last_at FROM totals o JOIN settings s "
                       "ON s.id = o.settings ORDER BY o.pattern, 2, 1, 4, 5, 6, 7")},
        {"drifts",
         all(db,
             "SELECT workload, before, after, run, observed_at, times FROM drifts ORDER BY id")},
        {"models",
         all(db, "SELECT name, kind, platform, payload, made_at FROM models ORDER BY id")},
        {"proofs", all(rows::proofs(db))},
        {"surfaces", all(rows::surfaces(db))},
        {"gain_models", all(rows::gain_models(db))}};
    return dump(document, 1);
  });
}

}  // namespace iotune::patterndb
