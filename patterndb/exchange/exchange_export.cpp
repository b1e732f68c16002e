// Everything in a database as one JSON document: format "iotune-patterns", version 5.
#include "patterndb/exchange/exchange.h"
#include "patterndb/gains/stored_gains.h"
#include "patterndb/learn/report.h"
#include "patterndb/settings/proofs.h"
#include "patterndb/store/pattern_db.h"

namespace iotune::patterndb {

namespace {

using sqlite::Connection;
using sqlite::Statement;

template <typename Row>
Json all(Connection& connection, const std::string& sql, const Row& row) {
  Statement rows(connection, sql);
  Json list = Json::array();
  while (rows.step()) list.push_back(row(rows));
  return list;
}

// `numbered` puts the id before the other members.
Json numbered(std::int64_t id, const Json& members) {
  Json entry = {{"id", id}};
  entry.update(members);
  return entry;
}

Json observation_row(const Statement& row) {
  return {{"spool_file", row.text(0)},
          {"item", row.integer(1)},
          {"run", row.text(2)},
          {"trace", row.text(3)},
          {"program", row.text(4)},
          {"file", row.text(5)},
          {"workload", row.integer(6)},
          {"platform", row.integer(7)},
          {"pattern", row.null(8) ? Json(nullptr) : Json(row.integer(8))},
          {"settings", row.text(9)},
          {"decision_source", row.text(10)},
          {"decision_row", row.integer(11)},
          {"bytes_written", row.integer(12)},
          {"bytes_read", row.integer(13)},
          {"seconds", row.real(14)},
          {"elapsed_seconds", row.real(15)},
          {"observed_at", row.real(16)},
          {"files", row.integer(17)}};
}

Json sighting_row(const Statement& row) {
  return {{"workload", row.integer(0)}, {"platform", row.integer(1)}, {"pattern", row.integer(2)},
          {"first_at", row.real(3)},    {"last_at", row.real(4)},     {"runs", row.integer(5)}};
}

Json total_row(const Statement& row) {
  return {{"workload", row.integer(0)},
          {"platform", row.integer(1)},
          {"pattern", row.integer(2) == 0 ? Json(nullptr) : Json(row.integer(2))},
          {"settings", row.text(3)},
          {"explored", row.integer(4) != 0},
          {"size", row.integer(5)},
          {"rate", row.integer(6)},
          {"files", row.integer(7)},
          {"runs", row.integer(8)},
          {"bytes", row.integer(9)},
          {"seconds", row.real(10)},
          {"last_at", row.real(11)}};
}

}  // namespace

Result<std::string> PatternDb::export_json() noexcept {
  return guarded<std::string>([&] {
    Connection& db = *connection_;
    sqlite::Transaction one_state(db, sqlite::Transaction::Kind::kRead);
    Json json = {{"format", kExchangeFormat}, {"version", kExchangeVersion}};
    json["platforms"] =
        all(db, std::string("SELECT f.id, ") + kPlatformColumns + " FROM platforms f ORDER BY 1",
            [](const Statement& r) { return numbered(r.integer(0), platform_row(r, 1)); });
    json["workloads"] =
        all(db, std::string("SELECT w.id, ") + kWorkloadColumns + " FROM workloads w ORDER BY 1",
            [](const Statement& r) { return numbered(r.integer(0), workload_row(r, 1)); });
    json["patterns"] =
        all(db, std::string("SELECT ") + kPatternColumns + " FROM patterns p ORDER BY 1",
            [](const Statement& r) { return pattern_json(r, 0); });
    json["uses"] =
        all(db,
            "SELECT workload, pattern, dataset, datasets, repeats, speaker, last_seen, settled "
            "FROM workload_patterns ORDER BY 1, 2",
            [](const Statement& r) -> Json {
              return {{"workload", r.integer(0)}, {"pattern", r.integer(1)},
                      {"dataset", r.text(2)},     {"datasets", r.integer(3)},
                      {"repeats", r.integer(4)},  {"speaker", r.integer(5) != 0},
                      {"last_seen", r.real(6)},   {"settled", r.integer(7) != 0}};
            });
    json["tunings"] = all(db,
                          std::string("SELECT ") + kTuningColumns +
                              ", t.pattern, t.platform, s.text, t.evidence, t.default_share, "
                              "t.replaces FROM tunings t "
                              "JOIN settings s ON s.id = t.settings ORDER BY 1",
                          [](const Statement& r) {
                            Json entry = tuning_row(r, 0);
                            entry["pattern"] = r.integer(kTuningWidth);
                            entry["platform"] = r.integer(kTuningWidth + 1);
                            entry["settings"] = r.text(kTuningWidth + 2);
                            entry["evidence"] = r.text(kTuningWidth + 3);
                            entry["default_share"] = r.real(kTuningWidth + 4);
                            entry["replaces"] = r.null(kTuningWidth + 5)
                                                    ? Json(nullptr)
                                                    : Json(r.integer(kTuningWidth + 5));
                            return entry;
                          });
    json["observations"] =
        all(db,
            "SELECT o.spool_file, o.item, o.run, o.trace, o.program_path, o.file_path, o.workload, "
            "o.platform, o.pattern, s.text, o.decision_source, o.decision_row, o.bytes_written, "
            "o.bytes_read, o.seconds, o.elapsed_seconds, o.observed_at, o.files "
            "FROM observations o JOIN settings s ON s.id = o.settings ORDER BY o.id",
            observation_row);
    json["sightings"] = all(db,
                            "SELECT workload, platform, pattern, first_at, last_at, runs "
                            "FROM sightings ORDER BY 1, 2, 3",
                            sighting_row);
    json["totals"] =
        all(db,
            "SELECT o.workload, o.platform, o.pattern, s.text, o.explored, o.size, o.rate, "
            "o.files, o.runs, o.bytes, o.seconds, o.last_at FROM totals o "
            "JOIN settings s ON s.id = o.settings ORDER BY 3, 2, 1, 4, 5, 6, 7",
            total_row);
    json["drifts"] = all(
        db, "SELECT workload, before, after, run, observed_at, times FROM drifts ORDER BY id",
        [](const Statement& r) -> Json {
          return {{"workload", r.integer(0)}, {"before", r.integer(1)},   {"after", r.integer(2)},
                  {"run", r.text(3)},         {"observed_at", r.real(4)}, {"times", r.integer(5)}};
        });
    json["models"] =
        all(db, "SELECT name, kind, platform, payload, made_at FROM models ORDER BY id",
            [](const Statement& r) -> Json {
              return {{"name", r.text(0)},
                      {"kind", r.text(1)},
                      {"platform", r.null(2) ? Json(nullptr) : Json(r.integer(2))},
                      {"payload", r.text(3)},
                      {"made_at", r.real(4)}};
            });
    json["proofs"] = Json::array();
    for (const Proof& proof : rows::proofs(db)) json["proofs"].push_back(to_json(proof));
    json["surfaces"] = Json::array();
    for (const Surface& one : rows::surfaces(db)) json["surfaces"].push_back(to_json(one));
    json["gain_models"] = Json::array();
    for (const StoredGainModel& one : rows::gain_models(db)) {
      json["gain_models"].push_back(to_json(one));
    }
    return dump(json, 1);
  });
}

}  // namespace iotune::patterndb
