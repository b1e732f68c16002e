#include "patterndb/store/retention.h"

#include <cmath>
#include <vector>

namespace iotune::patterndb {

namespace {

using sqlite::Connection;
using sqlite::Statement;

constexpr double kTenth = 1.1;
constexpr std::int64_t kNoRate = -1;  // of a row without bytes or seconds

// ?1 to ?7 are a Kind.
constexpr const char* kOfKind =
    "workload = ?1 AND pattern IS ?2 AND platform = ?3 AND settings = ?4 AND decision_row = ?5 "
    "AND decision_source = ?6 AND size = ?7 ";

void bind(Statement& statement, const Kind& kind) {
  statement.with(kind.workload, sqlite::or_null(kind.pattern), kind.platform, kind.settings,
                 kind.decision_row, kind.decision_source, kind.size);
}

std::int64_t class_of(double amount) {
  return amount < 1 ? kNoRate
                    : static_cast<std::int64_t>(std::floor(std::log(amount) / std::log(kTenth)));
}

struct Row {
  std::int64_t id;
  std::string spool_file;
  std::int64_t files, bytes;
  double seconds, observed_at;
};

// The oldest rows before the `kKeptRows` newest. A run that has rows among those keeps all.
std::vector<Row> surplus(Connection& connection, const Kind& kind, std::size_t most) {
  Statement border(connection, std::string("SELECT id, spool_file FROM observations WHERE ") +
                                   kOfKind + "ORDER BY id DESC LIMIT 1 OFFSET ?8");
  bind(border, kind);
  border.bind(8, static_cast<std::uint64_t>(kKeptRows - 1));
  std::vector<Row> rows;
  if (!border.step()) return rows;
  Statement older(connection,
                  std::string("SELECT id, spool_file, files, bytes_written + bytes_read, seconds, "
                              "observed_at FROM observations WHERE ") +
                      kOfKind + "AND id < ?8 AND spool_file != ?9 ORDER BY id LIMIT ?10");
  bind(older, kind);
  older.bind(8, border.integer(0)).bind(9, border.text(1));
  older.bind(10, static_cast<std::uint64_t>(most));
  while (older.step()) {
    rows.push_back({older.integer(0), older.text(1), older.integer(2), older.integer(3),
                    older.real(4), older.real(5)});
  }
  return rows;
}

void add_to_totals(Connection& connection, const Kind& kind, const Row& row) {
  // A run counts with its last row.
  Statement others(connection, std::string("SELECT 1 FROM " IOTUNE_OF_SPOOL_FILE("?8") "WHERE ") +
                                   kOfKind + "AND id != ?9 LIMIT 1");
  bind(others, kind);
  others.bind(8, row.spool_file).bind(9, row.id);
  const bool is_last = !others.step();
  Statement total(
      connection,
      "INSERT INTO totals (pattern, platform, workload, settings, explored, size, rate, files, "
      "runs, bytes, seconds, last_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?) "
      "ON CONFLICT DO UPDATE SET files = files + excluded.files, runs = runs + excluded.runs, "
      "bytes = bytes + excluded.bytes, seconds = seconds + excluded.seconds, "
      "last_at = max(last_at, excluded.last_at)");
  const double rate = row.seconds > 0 ? static_cast<double>(row.bytes) / row.seconds : 0;
  total.with(kind.pattern, kind.platform, kind.workload, kind.settings,
             kind.decision_source == "explore", kind.size, class_of(rate), row.files, is_last,
             row.bytes, row.seconds, row.observed_at);
  total.run();
}

}  // namespace

std::int64_t size_class(std::uint64_t bytes) {
  return class_of(static_cast<double>(bytes));
}

bool came_too_late(Connection& connection, const Kind& kind, double observed_at) {
  Statement newest(connection,
                   "SELECT 1 FROM totals WHERE pattern = ? AND platform = ? AND workload = ? "
                   "AND settings = ? AND explored = ? AND size = ? AND last_at >= ? LIMIT 1");
  newest.with(kind.pattern, kind.platform, kind.workload, kind.settings,
              kind.decision_source == "explore", kind.size, observed_at);
  return newest.step();
}

std::size_t keep_newest(Connection& connection, const Kind& kind, std::size_t most) {
  const std::vector<Row> rows = surplus(connection, kind, most);
  for (const Row& row : rows) {
    add_to_totals(connection, kind, row);
    Statement drop(connection, "DELETE FROM observations WHERE id = ?");
    drop.bind(1, row.id).run();
  }
  return rows.size();
}

std::size_t keep_newest_of_all(Connection& connection) {
  std::vector<Kind> kinds;
  {
    Statement rows(connection,
                   "SELECT workload, platform, coalesce(pattern, 0), settings, decision_row, "
                   "decision_source, size FROM observations "
                   "GROUP BY workload, pattern, platform, settings, decision_row, "
                   "decision_source, size HAVING count(*) > ?");
    rows.bind(1, static_cast<std::uint64_t>(kKeptRows));
    while (rows.step()) {
      kinds.push_back({rows.integer(0), rows.integer(1), rows.integer(2), rows.integer(3),
                       rows.integer(4), rows.text(5), rows.integer(6)});
    }
  }
  std::size_t dropped = 0;
  for (const Kind& kind : kinds) {
    dropped += keep_newest(connection, kind, static_cast<std::size_t>(INT64_MAX));
  }
  return dropped;
}

void fill_sizes(Connection& connection) {
  Statement rows(connection, "SELECT id, (bytes_written + bytes_read) / files FROM observations");
  Statement fill(connection, "UPDATE observations SET size = ? WHERE id = ?");
  while (rows.step()) {
    fill.with(size_class(static_cast<std::uint64_t>(rows.integer(1))), rows.integer(0));
    fill.run();
  }
}

}  // namespace iotune::patterndb
