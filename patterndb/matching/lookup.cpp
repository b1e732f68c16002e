// The look-ups of a decision.
#include <cmath>
#include <vector>

#include "patterndb/decide/site_copies.h"
#include "patterndb/matching/workload_names.h"
#include "patterndb/store/pattern_db.h"
#include "patterndb/store/sqlite.h"

namespace iotune::patterndb {

namespace {

std::optional<double> real_or_none(const sqlite::Statement& statement, int column) {
  if (statement.null(column)) return std::nullopt;
  return statement.real(column);
}

// Of a dataset, 0: not known. Nor is it where many elements of its chunks lie outside of it, which
// take room in the file as well.
double elements_of(const std::string& dims, const std::string& chunk) {
  constexpr double kMuchMore = 1.2;
  const std::vector<std::uint64_t> extents = split_numbers(dims), sizes = split_numbers(chunk);
  double elements = extents.empty() ? 0 : 1, stored = elements;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const auto extent = static_cast<double>(extents[i]);
    const auto size = i < sizes.size() ? static_cast<double>(sizes[i]) : 0;
    elements *= extent;
    stored *= size > 0 ? std::ceil(extent / size) * size : extent;
  }
  return stored > elements * kMuchMore ? 0 : elements;
}

}  // namespace

Result<PatternDb::OwnWorkload> PatternDb::workload_of(Workload workload) noexcept {
  return guarded<OwnWorkload>([&] {
    StoredName stored = stored_name(*connection_, workload);
    workload.file = std::move(stored.file);
    return OwnWorkload{std::move(workload), stored.distinguished};
  });
}

Result<std::optional<KnownPattern>> PatternDb::pattern_of(const Workload& workload,
                                                          bool creating) noexcept {
  return guarded<std::optional<KnownPattern>>([&]() -> std::optional<KnownPattern> {
    // A new file is written first, an old one is most often opened to be read.
    sqlite::Statement statement(
        *connection_,
        "SELECT p.byte_key, p.descriptor, wp.last_seen, wp.settled FROM workloads w "
        "JOIN workload_patterns wp ON wp.workload = w.id JOIN patterns p ON p.id = wp.pattern "
        "WHERE w.program=? AND w.file=? AND w.ranks=? AND w.nodes=? AND wp.speaker=1 "
        "ORDER BY p.op = ? DESC, wp.last_seen DESC, p.id LIMIT 1");
    statement.with(workload.program, workload.file, workload.ranks, workload.nodes,
                   creating ? "write" : "read");
    if (!statement.step()) return std::nullopt;
    return KnownPattern{statement.text(0), statement.text(1), statement.real(2),
                        statement.integer(3) != 0};
  });
}

Result<std::vector<KnownFile>> PatternDb::files_of(const Workload& workload) noexcept {
  constexpr std::size_t kMostFiles = 16;
  return guarded<std::vector<KnownFile>>([&] {
    sqlite::Statement rows(
        *connection_,
        "SELECT p.dataset_dims, p.element_bytes, p.filters, p.mode, wp.datasets, "
        "p.chunk, p.op = 'write', wp.last_seen FROM workloads w "
        "JOIN workload_patterns wp ON wp.workload = w.id JOIN patterns p ON p.id = wp.pattern "
        "WHERE w.program=? AND w.file=? AND w.ranks=? AND w.nodes=? ORDER BY wp.last_seen DESC");
    rows.with(workload.program, workload.file, workload.ranks, workload.nodes);
    std::vector<KnownFile> files;
    const KnownFile nothing{0, 0, true, true};
    KnownFile file = nothing;
    bool measurable = true;
    double seen = 0;
    const auto end_file = [&] {
      if (!measurable) file.bytes = 0;
      if (file.datasets != 0) files.push_back(file);
      file = nothing;
      measurable = true;
    };
    while (files.size() < kMostFiles && rows.step()) {
      if (rows.real(7) != seen) end_file();
      seen = rows.real(7);
      file.only_independent = file.only_independent && rows.text(3) == "independent";
      if (rows.integer(6) == 0) continue;
      const double elements = elements_of(rows.text(0), rows.text(5));
      measurable = measurable && elements > 0 && rows.integer(2) == 0;  // filters change sizes
      file.bytes += elements * static_cast<double>(rows.integer(1) * rows.integer(4));
      file.datasets += static_cast<std::uint64_t>(rows.integer(4));
      file.only_collective = file.only_collective && rows.text(3) == "collective";
    }
    end_file();
    return files;
  });
}

Result<std::vector<TunedFile>> PatternDb::tuned_posix_files(const Workload& workload) noexcept {
  return guarded<std::vector<TunedFile>>([&] {
    sqlite::Statement rows(
        *connection_,
        "SELECT DISTINCT w.file, f.filesystem, p.op = 'write' FROM workloads w "
        "JOIN workload_patterns wp ON wp.workload = w.id AND wp.speaker = 1 "
        "JOIN patterns p ON p.id = wp.pattern "
        "JOIN patterns q ON q.byte_key = p.byte_key JOIN tunings t ON t.pattern = q.id "
        "JOIN platforms f ON f.id = t.platform "
        "WHERE w.program = ? AND w.ranks = ? AND w.nodes = ? AND f.mpi = ? AND t.state = 'tuned' "
        // An open takes the first name that fits: those that keep a number go before.
        "ORDER BY length(w.file) - length(replace(w.file, '#', ''))");
    const Platform posix = platform_of_layer({}, FileLayer::kPosix);
    rows.with(workload.program, workload.ranks, workload.nodes, posix.mpi);
    std::vector<TunedFile> files;
    while (rows.step()) files.push_back({rows.text(0), rows.text(1), rows.integer(2) != 0});
    return files;
  });
}

Result<bool> PatternDb::keeps_default(const Workload& workload) noexcept {
  // An open waits, and the table of answers is walked whole for the platforms of those with
  // settings.
  constexpr std::int64_t kMostAnswers = 10000;
  return guarded<bool>([&] {
    sqlite::Statement last(*connection_, "SELECT max(id) FROM tunings");
    if (!last.step() || last.null(0) || last.integer(0) > kMostAnswers) return false;
    // Where a platform has answers with settings, one may resemble a pattern without its own.
    sqlite::Statement row(
        *connection_,
        "WITH tuned (platform) AS MATERIALIZED "
        "(SELECT DISTINCT platform FROM tunings WHERE state = 'tuned') "
        "SELECT count(*), sum("
        "EXISTS (SELECT 1 FROM patterns q JOIN tunings t ON t.pattern = q.id "
        " WHERE q.byte_key = p.byte_key AND t.state = 'tuned') "
        "OR NOT EXISTS (SELECT 1 FROM patterns q JOIN tunings t ON t.pattern = q.id "
        " WHERE q.byte_key = p.byte_key AND t.state <> 'untrained') "
        "OR EXISTS (SELECT 1 FROM tuned f WHERE NOT EXISTS "
        " (SELECT 1 FROM patterns q JOIN tunings t ON t.pattern = q.id "
        "  WHERE q.byte_key = p.byte_key AND t.platform = f.platform "
        "  AND t.state <> 'untrained'))) "
        "FROM workloads w JOIN workload_patterns wp ON wp.workload = w.id AND wp.speaker = 1 "
        "JOIN patterns p ON p.id = wp.pattern "
        "WHERE w.program = ? AND w.ranks = ? AND w.nodes = ?");
    row.with(workload.program, workload.ranks, workload.nodes);
    return row.step() && row.integer(0) > 0 && row.integer(1) == 0;
  });
}

std::optional<TuningRow> newest_tuning(sqlite::Connection& connection, const std::string& byte_key,
                                       const Platform& platform) {
  sqlite::Statement statement(
      connection,
      "SELECT t.id, t.state, s.text, p.descriptor, t.gain, t.low, t.high, t.rounds, "
      "t.source, t.made_at, t.default_share, t.evidence, "
      "EXISTS (SELECT 1 FROM observations o WHERE o.pattern = p.id AND o.decision_row = t.id), "
      "CASE WHEN t.source = ?6 THEN t.made_at "
      "WHEN t.source = 'runs' THEN (SELECT c.made_at FROM tunings c "
      " WHERE c.id = t.replaces AND c.source = ?6) END "
      "FROM patterns p JOIN tunings t ON t.pattern = p.id "
      "JOIN platforms f ON f.id = t.platform JOIN settings s ON s.id = t.settings "
      "WHERE p.byte_key = ?1 AND f.filesystem = ?2 AND (?3 = '' OR f.mpi = ?3) "
      "AND (?4 = '' OR f.hdf5 = ?4) AND (?5 = '' OR f.host_class = ?5) "
      "ORDER BY t.made_at DESC, t.id DESC LIMIT 1");
  statement.with(byte_key, platform.filesystem, platform.mpi, platform.hdf5, platform.host_class,
                 kCopySource);
  if (!statement.step()) return std::nullopt;
  TuningRow row;
  row.id = statement.integer(0);
  std::optional<State> state = state_named(statement.text(1));
  if (!state)
    throw Fault{connection.path() + ": row " + std::to_string(row.id) + " has an unknown state"};
  row.state = *state;
  row.settings = statement.text(2);
  row.descriptor = statement.text(3);
  row.gain = real_or_none(statement, 4);
  row.low = real_or_none(statement, 5);
  row.high = real_or_none(statement, 6);
  row.rounds = static_cast<std::uint64_t>(statement.integer(7));
  row.source = statement.text(8);
  row.made_at = statement.real(9);
  row.default_share = statement.real(10);
  row.evidence = statement.text(11);
  row.was_given = statement.integer(12) != 0;
  row.copied_at = real_or_none(statement, 13);
  return row;
}

Result<std::optional<TuningRow>> PatternDb::newest_tuning(const std::string& byte_key,
                                                          const Platform& platform) noexcept {
  return guarded<std::optional<TuningRow>>(
      [&] { return patterndb::newest_tuning(*connection_, byte_key, platform); });
}

}  // namespace iotune::patterndb
