// What became of a pattern's answers, each move with its evidence.
#include <algorithm>
#include <vector>

#include "patterndb/decide/default_test.h"
#include "patterndb/learn/report.h"
#include "patterndb/store/pattern_db.h"

namespace iotune::patterndb {

namespace {

using sqlite::Connection;
using sqlite::Statement;

// A list of what `fill` makes of each row, of which the workload comes first.
template <typename Fill>
Json of_workloads(Statement& rows, Fill fill) {
  Json list = Json::array();
  while (rows.step()) {
    Json entry = workload_row(rows, 0);
    fill(entry);
    list.push_back(std::move(entry));
  }
  return list;
}

Json answers(Connection& db, const std::string& key) {
  Statement rows(db, std::string("SELECT ") + kTuningColumns + ", " + kPlatformColumns +
                         ", s.text, t.evidence, t.replaces, t.default_share FROM patterns p "
                         "JOIN tunings t ON t.pattern = p.id JOIN platforms f ON f.id = t.platform "
                         "JOIN settings s ON s.id = t.settings WHERE p.byte_key = ?");
  rows.bind(1, key);
  Json list = Json::array();
  while (rows.step()) {
    Json entry = tuning_row(rows, 0);
    entry["at"] = entry["made_at"];
    entry["kind"] = "answer";
    entry["platform"] = platform_row(rows, kTuningWidth);
    entry["settings_text"] = rows.text(kTuningWidth + 4);
    entry["evidence"] = rows.text(kTuningWidth + 5);
    entry["replaces"] =
        rows.null(kTuningWidth + 6) ? Json(nullptr) : Json(rows.integer(kTuningWidth + 6));
    entry["default_share"] = rows.real(kTuningWidth + 7);
    list.push_back(std::move(entry));
  }
  return list;
}

Json sightings(Connection& db, const std::string& key) {
  Statement rows(db,
                 std::string("SELECT ") + kWorkloadColumns +
                     ", f.filesystem, f.mpi, f.hdf5, f.host_class, min(o.first_at), "
                     "max(o.last_at), sum(o.runs) FROM patterns p "
                     "JOIN sightings o ON o.pattern = p.id JOIN workloads w ON w.id = o.workload "
                     "JOIN platforms f ON f.id = o.platform WHERE p.byte_key = ? "
                     "GROUP BY o.workload, o.platform");
  rows.bind(1, key);
  return of_workloads(rows, [&](Json& entry) {
    entry["at"] = rows.real(8);
    entry["kind"] = "first seen";
    entry["platform"] = platform_row(rows, 4);
    entry["last_at"] = rows.real(9);
    entry["runs"] = rows.integer(10);
  });
}

Json drifts(Connection& db, const std::string& key) {
  Statement rows(db, std::string("SELECT ") + kWorkloadColumns +
                         ", d.observed_at, d.run, b.descriptor, a.descriptor, "
                         "b.mode || ', ' || b.ranks || ' ranks, ' || b.element_bytes, "
                         "a.mode || ', ' || a.ranks || ' ranks, ' || a.element_bytes FROM drifts d "
                         "JOIN workloads w ON w.id = d.workload JOIN patterns b ON b.id = d.before "
                         "JOIN patterns a ON a.id = d.after "
                         "WHERE d.before IN (SELECT id FROM patterns WHERE byte_key = ?1) "
                         "OR d.after IN (SELECT id FROM patterns WHERE byte_key = ?1)");
  rows.bind(1, key);
  return of_workloads(rows, [&](Json& entry) {
    entry["at"] = rows.real(4);
    entry["kind"] = "drift";
    entry["run"] = rows.text(5);
    entry["before"] = rows.text(6);
    entry["after"] = rows.text(7);
    if (rows.text(6) == rows.text(7)) {  // then something else tells them apart
      entry["before"] = rows.text(6) + " " + rows.text(8) + "-byte elements";
      entry["after"] = rows.text(7) + " " + rows.text(9) + "-byte elements";
    }
  });
}

Json trials(Connection& db, const std::string& key) {
  Statement rows(db, std::string("SELECT ") + kWorkloadColumns +
                         ", r.tuning, r.tuned_runs, r.default_runs, r.effective_runs, r.cautious, "
                         "r.middle, r.bold FROM patterns p JOIN tunings t ON t.pattern = p.id "
                         "JOIN trials r ON r.tuning = t.id JOIN workloads w ON w.id = r.workload "
                         "WHERE p.byte_key = ? ORDER BY r.tuning, r.workload");
  rows.bind(1, key);
  return of_workloads(rows, [&](Json& entry) {
    DefaultTest test{{rows.real(8), rows.real(9), rows.real(10)}};
    entry["row"] = rows.integer(4);
    entry["tuned_runs"] = rows.integer(5);
    entry["default_runs"] = rows.integer(6);
    entry["effective_runs"] = rows.integer(7);
    entry["evidence"] = test.value();
    entry["reverts_at"] = kRevertAt;
  });
}

}  // namespace

Result<std::string> PatternDb::history(std::int64_t pattern) noexcept {
  return guarded<std::string>([&] {
    sqlite::Transaction one_state(*connection_, sqlite::Transaction::Kind::kRead);
    Statement row(*connection_,
                  std::string("SELECT ") + kPatternColumns + " FROM patterns p WHERE p.id = ?");
    row.bind(1, pattern);
    if (!row.step()) throw Fault{path() + ": no pattern " + std::to_string(pattern)};
    Json entry = pattern_json(row, 0);
    std::string key = row.text(1);
    std::vector<Json> moves;
    for (const Json& part :
         {sightings(*connection_, key), answers(*connection_, key), drifts(*connection_, key)}) {
      moves.insert(moves.end(), part.begin(), part.end());
    }
    std::stable_sort(moves.begin(), moves.end(), [](const Json& a, const Json& b) {
      return a["at"].get<double>() < b["at"].get<double>();
    });
    entry["database"] = path();
    entry["moves"] = moves;
    entry["trials"] = trials(*connection_, key);
    return dump(entry);
  });
}

}  // namespace iotune::patterndb
