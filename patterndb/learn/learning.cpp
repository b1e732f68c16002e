#include "patterndb/learn/learning.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "patterndb/decide/default_test.h"
#include "patterndb/store/rows.h"

namespace iotune::patterndb {

namespace {

using sqlite::Connection;
using sqlite::Statement;

// How many earlier runs of either arm a bandwidth is ranked among.
constexpr int kEarlierTuned = 16, kEarlierDefault = 8;
// Tuned runs without any effect before settings count as refused.
constexpr std::int64_t kRunsWithoutEffect = 3;

// All files of one run that belong to one workload and one answer.
struct Unit {
  std::int64_t tuning, workload, pattern, platform, settings;
  std::string program, file, descriptor, settings_text;
  double default_share;
  std::int64_t files, bytes, last_observation;
  double seconds;
  bool at_default, effective;
  double observed_at;

  double bandwidth() const { return static_cast<double>(bytes) / seconds; }
};

struct Trial {
  std::int64_t tuned_runs = 0, default_runs = 0, effective_runs = 0;
  DefaultTest test;
};

// Only what was drawn counts: an answer that held when the run asked, for the pattern that it then
// showed. A run whose processes drew differently is no run of either arm.
std::vector<Unit> units_of(Connection& connection, const std::string& spool_file) {
  Statement rows(
      connection,
      "SELECT o.decision_row, o.workload, o.pattern, o.platform, t.settings, w.program, w.file, "
      "p.descriptor, s.text, t.default_share, sum(o.files), sum(o.bytes_written + o.bytes_read), "
      "max(o.id), sum(o.seconds), max(o.decision_source = 'explore'), max(e.text != ''), "
      "max(o.observed_at) "
      "FROM observations o JOIN tunings t ON t.id = o.decision_row AND t.state = 'tuned' "
      "JOIN patterns q ON q.id = t.pattern JOIN patterns p ON p.id = o.pattern "
      "JOIN workloads w ON w.id = o.workload JOIN settings s ON s.id = t.settings "
      "JOIN settings e ON e.id = o.settings "
      "WHERE o.spool_file = ? AND t.platform = o.platform "
      "AND (o.decision_source IN ('exact', 'explore') AND q.byte_key = p.byte_key "
      "OR o.decision_source IN ('similar', 'explore') AND q.byte_key != p.byte_key "
      "AND EXISTS (SELECT 1 FROM workload_patterns wp WHERE wp.workload = o.workload "
      "AND wp.pattern = o.pattern AND wp.settled = 1)) "
      "GROUP BY o.decision_row, o.workload, p.byte_key "
      "HAVING min(o.decision_source = 'explore') = max(o.decision_source = 'explore')");
  rows.bind(1, spool_file);
  std::vector<Unit> units;
  while (rows.step()) {
    Unit unit{rows.integer(0),  rows.integer(1), rows.integer(2),      rows.integer(3),
              rows.integer(4),  rows.text(5),    rows.text(6),         rows.text(7),
              rows.text(8),     rows.real(9),    rows.integer(10),     rows.integer(11),
              rows.integer(12), rows.real(13),   rows.integer(14) > 0, rows.integer(15) > 0,
              rows.real(16)};
    if (unit.bytes > 0 && unit.seconds > 0) units.push_back(unit);
  }
  return units;
}

// Bandwidths of the newest runs before this one that moved as much a file, within a tenth.
std::vector<double> earlier_runs(Connection& connection, const Unit& unit, bool tuned) {
  Statement rows(connection,
                 std::string("SELECT sum(o.bytes_written + o.bytes_read) / sum(o.seconds) "
                             "FROM observations o JOIN patterns p ON p.id = o.pattern "
                             "WHERE o.workload = ?1 AND o.platform = ?2 AND o.id < ?3 "
                             "AND p.byte_key = (SELECT byte_key FROM patterns WHERE id = ?4) "
                             "AND (o.bytes_written + o.bytes_read) / o.files BETWEEN ?5 * 0.9 "
                             "AND ?5 * 1.1 "
                             "AND o.seconds > 0 AND o.spool_file != "
                             "(SELECT spool_file FROM observations WHERE id = ?3) AND ") +
                     (tuned ? "o.decision_row = ?6 AND o.decision_source != 'explore' "
                            : "o.settings = (SELECT id FROM settings WHERE text = '') "
                              "AND (o.decision_row != ?6 OR o.decision_source = 'explore') ") +
                     "GROUP BY o.spool_file ORDER BY max(o.id) DESC LIMIT ?7");
  rows.with(unit.workload, unit.platform, unit.last_observation, unit.pattern,
            unit.bytes / unit.files, unit.tuning,
            static_cast<std::int64_t>(tuned ? kEarlierTuned : kEarlierDefault));
  std::vector<double> bandwidths;
  while (rows.step()) bandwidths.push_back(rows.real(0));
  return bandwidths;
}

Trial trial_of(Connection& connection, const Unit& unit) {
  Statement row(connection,
                "SELECT tuned_runs, default_runs, effective_runs, cautious, middle, bold "
                "FROM trials WHERE tuning=? AND workload=?");
  row.with(unit.tuning, unit.workload);
  Trial trial;
  if (!row.step()) return trial;
  trial.tuned_runs = row.integer(0);
  trial.default_runs = row.integer(1);
  trial.effective_runs = row.integer(2);
  trial.test.capital = {row.real(3), row.real(4), row.real(5)};
  return trial;
}

void store(Connection& connection, const Unit& unit, const Trial& trial) {
  Statement row(connection,
                "INSERT OR REPLACE INTO trials (tuning, workload, tuned_runs, default_runs, "
                "effective_runs, cautious, middle, bold) VALUES (?,?,?,?,?,?,?,?)");
  row.with(unit.tuning, unit.workload, trial.tuned_runs, trial.default_runs, trial.effective_runs);
  for (int i = 0; i < 3; ++i) row.bind(6 + i, trial.test.capital[static_cast<std::size_t>(i)]);
  row.run();
}

std::string rate_text(double bytes_per_second) {
  return number(bytes_per_second / (1 << 20)) + " MiB/s";
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

// The answer that holds now for the unit's pattern and platform is still the unit's.
bool still_holds(Connection& connection, const Unit& unit) {
  Statement row(connection,
                "SELECT t.id FROM patterns p JOIN tunings t ON t.pattern = p.id "
                "WHERE p.byte_key = (SELECT q.byte_key FROM patterns q JOIN tunings u "
                " ON u.pattern = q.id WHERE u.id = ?1) AND t.platform = ?2 "
                "ORDER BY t.made_at DESC, t.id DESC LIMIT 1");
  row.with(unit.tuning, unit.platform);
  return row.step() && row.integer(0) == unit.tuning;
}

struct Move {
  State state;
  std::optional<double> gain;
  std::string evidence;
};

void move(Connection& connection, const Unit& unit, const Move& to,
          std::vector<std::string>& moves) {
  Tuning evidence;
  evidence.state = to.state;
  evidence.gain = to.gain;
  // After what it is drawn from, and behind the answer that it replaces, whatever clocks say.
  Statement made(connection, "SELECT max(made_at) FROM tunings WHERE id = ?");
  made.bind(1, unit.tuning).step();
  evidence.made_at = std::max(unit.observed_at, made.real(0));
  evidence.source = "runs";
  evidence.evidence = to.evidence;
  evidence.replaces = unit.tuning;
  std::int64_t id =
      rows::tuning(connection, {unit.pattern, unit.platform, unit.settings}, evidence).id;
  moves.push_back(unit.descriptor + " of " + unit.program + " " + unit.file + ": " +
                  unit.settings_text + " is " + state_name(to.state) + " (row " +
                  std::to_string(unit.tuning) + " to row " + std::to_string(id) +
                  "): " + to.evidence);
}

void learn(Connection& connection, const Unit& unit, std::vector<std::string>& moves) {
  Trial trial = trial_of(connection, unit);
  EarlierRuns earlier{earlier_runs(connection, unit, true), earlier_runs(connection, unit, false)};
  (unit.at_default ? trial.default_runs : trial.tuned_runs) += 1;
  trial.effective_runs += !unit.at_default && unit.effective;
  add_run(trial.test, unit.bandwidth(), unit.at_default, unit.default_share, earlier);
  store(connection, unit, trial);
  if (!still_holds(connection, unit)) return;

  if (trial.effective_runs == 0 && trial.tuned_runs >= kRunsWithoutEffect) {
    Statement others(connection, "SELECT sum(effective_runs) FROM trials WHERE tuning = ?");
    others.bind(1, unit.tuning).step();
    if (others.integer(0) > 0) return;  // a program that sets these itself
    move(connection, unit,
         {State::kRefused, std::nullopt,
          "none of its settings took effect in " + std::to_string(trial.tuned_runs) + " runs"},
         moves);
    return;
  }
  if (!trial.test.rejects()) return;
  (unit.at_default ? earlier.at_default : earlier.tuned).push_back(unit.bandwidth());
  if (earlier.tuned.empty() || earlier.at_default.empty()) return;
  double tuned = median(earlier.tuned), at_default = median(earlier.at_default);
  char value[32];
  snprintf(value, sizeof value, "%.3g", trial.test.value());
  move(connection, unit,
       {State::kReverted, tuned / at_default,
        "median " + rate_text(tuned) + " in the last " + std::to_string(earlier.tuned.size()) +
            " runs, " + rate_text(at_default) + " in the last " +
            std::to_string(earlier.at_default.size()) + " at the default; evidence " + value +
            " after " + std::to_string(trial.tuned_runs) + " and " +
            std::to_string(trial.default_runs) + " runs"},
       moves);
}

}  // namespace

bool is_settled(Connection& connection, const Sighting& sighting, std::vector<std::string>& moves) {
  Statement row(connection,
                "SELECT p.id, p.byte_key, p.descriptor, wp.last_seen, wp.settled, w.program, "
                "w.file FROM workload_patterns wp JOIN patterns p ON p.id = wp.pattern "
                "JOIN workloads w ON w.id = wp.workload "
                "WHERE wp.workload = ? AND wp.speaker = 1 AND p.op = ? "
                "ORDER BY wp.last_seen DESC LIMIT 1");
  row.with(sighting.workload, sighting.write ? "write" : "read");
  if (!row.step()) return true;
  if (row.text(1) == sighting.byte_key) {
    // Files of one run that differ do not settle each other.
    return row.integer(4) != 0 || sighting.observed_at > row.real(3);
  }
  if (sighting.observed_at < row.real(3)) return true;  // reported late: what came since holds
  rows::drift(connection, {sighting.workload, row.integer(0), sighting.pattern, sighting.run,
                           sighting.observed_at});
  moves.push_back(row.text(5) + " " + row.text(6) + " no longer shows " + row.text(2) +
                  ": no answer is trusted until a pattern is shown twice in a row");
  return false;
}

void learn_from_run(Connection& connection, const std::string& spool_file,
                    std::vector<std::string>& moves) {
  for (const Unit& unit : units_of(connection, spool_file)) learn(connection, unit, moves);
}

}  // namespace iotune::patterndb
