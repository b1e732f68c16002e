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

// Members, of which the four from `platform` on are one of their own.
Json with_platform(const Statement& row, int platform) {
  Json entry = members(row, 0, platform);
  entry["platform"] = platform_row(row, platform);
  entry.update(members(row, platform + kPlatformWidth));
  return entry;
}

Json answers(Connection& db, const std::string& key) {
  Statement rows(db, std::string("SELECT ") + kTuningColumns +
                         ", t.made_at AS at, 'answer' AS kind, " + kPlatformColumns +
                         ", s.text AS settings_text, t.evidence, t.replaces, t.default_share "
                         "FROM patterns p JOIN tunings t ON t.pattern = p.id "
                         "JOIN platforms f ON f.id = t.platform "
                         "JOIN settings s ON s.id = t.settings WHERE p.byte_key = ?");
  rows.bind(1, key);
  return list_of(rows, [&] { return with_platform(rows, kTuningWidth + 2); });
}

Json sightings(Connection& db, const std::string& key) {
  Statement rows(db, std::string("SELECT ") + kWorkloadColumns +
                         ", min(o.first_at) AS at, 'first seen' AS kind, " + kPlatformColumns +
                         ", max(o.last_at) AS last_at, sum(o.runs) AS runs FROM patterns p "
                         "JOIN sightings o ON o.pattern = p.id JOIN workloads w "
                         "ON w.id = o.workload JOIN platforms f ON f.id = o.platform "
                         "WHERE p.byte_key = ? GROUP BY o.workload, o.platform");
  rows.bind(1, key);
  return list_of(rows, [&] { return with_platform(rows, kWorkloadWidth + 2); });
}

Json drifts(Connection& db, const std::string& key) {
  // Where the descriptors are the same, something else tells the patterns apart.
  Statement rows(
      db, std::string("SELECT ") + kWorkloadColumns +
              ", d.observed_at AS at, 'drift' AS kind, d.run, "
              "b.descriptor || iif(a.descriptor = b.descriptor, ' ' || b.mode || ', ' || b.ranks "
              "|| ' ranks, ' || b.element_bytes || '-byte elements', '') AS before, "
              "a.descriptor || iif(a.descriptor = b.descriptor, ' ' || a.mode || ', ' || a.ranks "
              "|| ' ranks, ' || a.element_bytes || '-byte elements', '') AS after FROM drifts d "
              "JOIN workloads w ON w.id = d.workload JOIN patterns b ON b.id = d.before "
              "JOIN patterns a ON a.id = d.after "
              "WHERE d.before IN (SELECT id FROM patterns WHERE byte_key = ?1) "
              "OR d.after IN (SELECT id FROM patterns WHERE byte_key = ?1)");
  rows.bind(1, key);
  return list_of(rows);
}

Json trials(Connection& db, const std::string& key) {
  Statement rows(db, std::string("SELECT ") + kWorkloadColumns +
                         ", r.tuning AS row, r.tuned_runs, r.default_runs, r.effective_runs, "
                         "r.cautious, r.middle, r.bold FROM patterns p JOIN tunings t "
                         "ON t.pattern = p.id JOIN trials r ON r.tuning = t.id JOIN workloads w "
                         "ON w.id = r.workload WHERE p.byte_key = ? ORDER BY r.tuning, r.workload");
  rows.bind(1, key);
  return list_of(rows, [&] {
    constexpr int kCapital = kWorkloadWidth + 4;
    Json entry = members(rows, 0, kCapital);
    const DefaultTest test{{rows.real(kCapital), rows.real(kCapital + 1), rows.real(kCapital + 2)}};
    entry["evidence"] = test.value();
    entry["reverts_at"] = kRevertAt;
    return entry;
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
    Json entry = members(row);
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
