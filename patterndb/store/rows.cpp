#include "patterndb/store/rows.h"

#include <cmath>
#include <optional>

#include "patterndb/matching/geometry.h"

namespace iotune::patterndb::rows {

using sqlite::Connection;
using sqlite::Statement;

namespace {

// `find` and `add` take the same parameters in the same order. `bind` binds them to either.
template <typename Bind>
Added find_or_add(Connection& connection, const char* find, const char* add, const Bind& bind) {
  Statement finding(connection, find);
  bind(finding);
  if (finding.step()) return {finding.integer(0), false};
  Statement adding(connection, add);
  bind(adding);
  adding.run();
  return {connection.last_row(), true};
}

void bind_or_null(Statement& statement, int index, const std::optional<double>& value) {
  if (value) {
    statement.bind(index, *value);
  } else {
    statement.bind_null(index);
  }
}

std::string distributions(const Pattern& pattern) {
  std::string text;
  for (const auto& dimension : pattern.descriptor.dimensions) {
    if (!text.empty()) text += ',';
    text += distribution_text(dimension, false);
  }
  return text;
}

}  // namespace

std::int64_t platform(Connection& connection, const Platform& platform) {
  return find_or_add(
             connection,
             "SELECT id FROM platforms WHERE filesystem=? AND mpi=? AND hdf5=? AND host_class=?",
             "INSERT INTO platforms (filesystem, mpi, hdf5, host_class) VALUES (?,?,?,?)",
             [&](Statement& s) {
               s.bind(1, platform.filesystem).bind(2, platform.mpi);
               s.bind(3, platform.hdf5).bind(4, platform.host_class);
             })
      .id;
}

std::int64_t workload(Connection& connection, const Workload& workload) {
  return find_or_add(connection,
                     "SELECT id FROM workloads WHERE program=? AND file=? AND ranks=? AND nodes=?",
                     "INSERT INTO workloads (program, file, ranks, nodes) VALUES (?,?,?,?)",
                     [&](Statement& s) {
                       s.bind(1, workload.program).bind(2, workload.file);
                       s.bind(3, workload.ranks).bind(4, workload.nodes);
                     })
      .id;
}

std::int64_t pattern(Connection& connection, const Pattern& pattern) {
  std::string key = byte_key(pattern);
  std::string descriptor = descriptor_text(pattern.descriptor);
  std::string dims = joined(pattern.dataset_dims);
  Statement finding(connection,
                    "SELECT id FROM patterns WHERE byte_key=? AND descriptor=? AND "
                    "element_bytes=? AND dataset_dims=?");
  finding.bind(1, key).bind(2, descriptor).bind(3, pattern.element_bytes).bind(4, dims);
  if (finding.step()) return finding.integer(0);

  ParsedDescriptor bytes = in_bytes(pattern.descriptor, pattern.element_bytes);
  std::vector<std::uint64_t> byte_counts;
  for (const auto& dimension : bytes.dimensions) byte_counts.push_back(dimension.count);
  Statement adding(connection,
                   "INSERT INTO patterns (byte_key, byte_descriptor, descriptor, op, dimensions, "
                   "distributions, byte_counts, element_bytes, ranks, grid, mode, chunk, filters, "
                   "dataset_dims, wall, piece_doublings, pieces_doublings) "
                   "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  adding.bind(1, key).bind(2, descriptor_text(bytes)).bind(3, descriptor);
  adding.bind(4, std::string(pattern.write ? "write" : "read"));
  adding.bind(5, static_cast<std::uint64_t>(bytes.dimensions.size()));
  adding.bind(6, distributions(pattern)).bind(7, joined(byte_counts));
  adding.bind(8, pattern.element_bytes).bind(9, pattern.ranks).bind(10, joined(pattern.grid));
  adding.bind(11, pattern.mode).bind(12, joined(pattern.chunk)).bind(13, pattern.filters);
  adding.bind(14, dims);
  Geometry geometry;
  if (geometry_of(pattern, geometry)) {
    adding.bind(15, wall_of(pattern, geometry)).bind(16, std::log2(geometry.piece_bytes));
    adding.bind(17, std::log2(geometry.pieces));
  } else {
    adding.bind_null(15).bind_null(16).bind_null(17);
  }
  adding.run();
  return connection.last_row();
}

std::int64_t settings(Connection& connection, const std::string& canonical_text) {
  return find_or_add(connection, "SELECT id FROM settings WHERE text=?",
                     "INSERT INTO settings (text) VALUES (?)",
                     [&](Statement& s) { s.bind(1, canonical_text); })
      .id;
}

void use(Connection& connection, const StoredUse& use) {
  Statement statement(
      connection,
      "INSERT INTO workload_patterns (workload, pattern, dataset, datasets, repeats, speaker, "
      "last_seen, settled) VALUES (?,?,?,?,?,?,?,?) ON CONFLICT (workload, pattern) DO UPDATE SET "
      "dataset=excluded.dataset, datasets=excluded.datasets, repeats=excluded.repeats, "
      "speaker=excluded.speaker, last_seen=excluded.last_seen, "
      "settled=excluded.settled "
      "WHERE excluded.last_seen >= last_seen");
  statement.bind(1, use.workload).bind(2, use.pattern).bind(3, use.dataset);
  statement.bind(4, use.datasets).bind(5, use.repeats);
  statement.bind(6, static_cast<std::int64_t>(use.is_dominant)).bind(7, use.last_seen);
  statement.bind(8, static_cast<std::int64_t>(use.settled));
  statement.run();
}

void drift(Connection& connection, const StoredDrift& drift) {
  Statement newest(connection,
                   "SELECT observed_at FROM drifts WHERE workload = ? ORDER BY observed_at DESC "
                   "LIMIT 1 OFFSET ?");
  newest.bind(1, drift.workload).bind(2, static_cast<std::uint64_t>(kKeptDrifts - 1));
  if (newest.step() && drift.observed_at <= newest.real(0)) return;  // it was counted before
  Statement statement(connection,
                      "INSERT INTO drifts (workload, before, after, run, observed_at, times) "
                      "VALUES (?,?,?,?,?,?) ON CONFLICT DO NOTHING");
  statement.bind(1, drift.workload).bind(2, drift.before).bind(3, drift.after);
  statement.bind(4, drift.run).bind(5, drift.observed_at).bind(6, drift.times);
  statement.run();
  // The oldest that is kept counts for those before it.
  Statement older(connection,
                  "SELECT count(*), sum(times), max(observed_at) FROM (SELECT times, observed_at "
                  "FROM drifts WHERE workload = ? ORDER BY observed_at DESC LIMIT -1 OFFSET ?)");
  older.bind(1, drift.workload).bind(2, static_cast<std::uint64_t>(kKeptDrifts));
  if (!older.step() || older.integer(0) == 0) return;
  Statement drop(connection, "DELETE FROM drifts WHERE workload = ? AND observed_at <= ?");
  drop.bind(1, drift.workload).bind(2, older.real(2)).run();
  Statement add(connection,
                "UPDATE drifts SET times = times + ?2 WHERE id = (SELECT id FROM drifts "
                "WHERE workload = ?1 ORDER BY observed_at LIMIT 1)");
  add.bind(1, drift.workload).bind(2, older.integer(1)).run();
}

std::optional<std::int64_t> find_tuning(Connection& connection, const StoredTuning& keys,
                                        const Tuning& evidence) {
  Statement finding(connection,
                    "SELECT id FROM tunings WHERE pattern=? AND platform=? AND settings=? AND "
                    "state=? AND made_at=? AND source=?");
  finding.bind(1, keys.pattern).bind(2, keys.platform).bind(3, keys.settings);
  finding.bind(4, std::string(state_name(evidence.state)));
  finding.bind(5, evidence.made_at).bind(6, evidence.source);
  if (!finding.step()) return std::nullopt;
  return finding.integer(0);
}

Added tuning(Connection& connection, const StoredTuning& keys, const Tuning& evidence) {
  if (const auto found = find_tuning(connection, keys, evidence)) return {*found, false};
  std::string state = state_name(evidence.state);
  Statement adding(connection,
                   "INSERT INTO tunings (pattern, platform, settings, state, made_at, source, "
                   "rounds, gain, low, high, default_share, evidence, replaces) "
                   "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)");
  adding.bind(1, keys.pattern).bind(2, keys.platform).bind(3, keys.settings).bind(4, state);
  adding.bind(5, evidence.made_at).bind(6, evidence.source).bind(7, evidence.rounds);
  bind_or_null(adding, 8, evidence.gain);
  bind_or_null(adding, 9, evidence.low);
  bind_or_null(adding, 10, evidence.high);
  adding.bind(11, evidence.default_share).bind(12, evidence.evidence);
  if (evidence.replaces > 0) {
    adding.bind(13, evidence.replaces);
  } else {
    adding.bind_null(13);
  }
  adding.run();
  return {connection.last_row(), true};
}

namespace {

// The run's first row of a pattern that is the same in bytes.
bool is_first_of_its_run(Connection& connection, const StoredObservation& row) {
  Statement earlier(connection,
                    "SELECT 1 FROM " IOTUNE_OF_SPOOL_FILE("?1") "o JOIN patterns p "
                    "ON p.id = o.pattern WHERE o.workload = ?2 AND o.platform = ?3 AND p.byte_key = "
                    "(SELECT byte_key FROM patterns WHERE id = ?4) LIMIT 1");
  earlier.bind(1, row.spool_file).bind(2, row.workload).bind(3, row.platform);
  return !earlier.bind(4, row.pattern).step();
}

void add_sighting(Connection& connection, const StoredObservation& row) {
  Statement statement(
      connection,
      "INSERT INTO sightings (workload, platform, pattern, first_at, last_at, runs) "
      "VALUES (?1,?2,?3,?4,?4,?5) ON CONFLICT DO UPDATE SET runs = runs + excluded.runs, "
      "first_at = min(first_at, excluded.first_at), last_at = max(last_at, excluded.last_at)");
  statement.bind(1, row.workload).bind(2, row.platform).bind(3, row.pattern);
  statement.bind(4, row.observed_at);
  statement.bind(5, static_cast<std::int64_t>(is_first_of_its_run(connection, row))).run();
}

}  // namespace

Kind kind_of(const StoredObservation& row) {
  return {row.workload,
          row.platform,
          row.pattern,
          row.settings,
          row.decision_row,
          row.decision_source,
          size_class((row.bytes_written + row.bytes_read) / row.files)};
}

bool observation(Connection& connection, const StoredObservation& row) {
  const Kind kind = kind_of(row);
  if (came_too_late(connection, kind, row.observed_at)) return false;
  Statement known(connection, "SELECT 1 FROM observations WHERE spool_file = ? AND item = ?");
  if (known.bind(1, row.spool_file).bind(2, row.item).step()) return false;
  if (row.pattern > 0) add_sighting(connection, row);
  Statement statement(
      connection,
      "INSERT INTO observations (spool_file, item, run, trace, program_path, file_path, workload, "
      "platform, pattern, settings, decision_source, decision_row, bytes_written, "
      "bytes_read, seconds, elapsed_seconds, observed_at, files, size) "
      "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  statement.bind(1, row.spool_file).bind(2, row.item).bind(3, row.run).bind(4, row.trace);
  statement.bind(5, row.program).bind(6, row.path).bind(7, row.workload).bind(8, row.platform);
  if (row.pattern > 0) {
    statement.bind(9, row.pattern);
  } else {
    statement.bind_null(9);
  }
  statement.bind(10, row.settings).bind(11, row.decision_source).bind(12, row.decision_row);
  statement.bind(13, row.bytes_written).bind(14, row.bytes_read).bind(15, row.seconds);
  statement.bind(16, row.elapsed_seconds).bind(17, row.observed_at);
  statement.bind(18, row.files).bind(19, kind.size);
  statement.run();
  // One more than was added, so that a database of an older version gets there too.
  constexpr std::size_t kMostDropped = 2;
  keep_newest(connection, kind, kMostDropped);
  return true;
}

void add_to_observation(Connection& connection, const StoredObservation& row) {
  const Kind kind = kind_of(row);
  Statement statement(
      connection,
      "UPDATE observations SET files = files + ?1, bytes_written = bytes_written + ?2, "
      "bytes_read = bytes_read + ?3, seconds = seconds + ?4, "
      "elapsed_seconds = elapsed_seconds + ?5, observed_at = max(observed_at, ?6) WHERE id = "
      "(SELECT max(id) FROM " IOTUNE_OF_SPOOL_FILE("?7") "WHERE workload = ?8 "
      "AND pattern IS ?9 AND platform = ?10 AND settings = ?11 AND decision_row = ?12 "
      "AND decision_source = ?13 AND size = ?14)");
  statement.bind(1, row.files).bind(2, row.bytes_written).bind(3, row.bytes_read);
  statement.bind(4, row.seconds).bind(5, row.elapsed_seconds).bind(6, row.observed_at);
  statement.bind(7, row.spool_file).bind(8, kind.workload).bind(10, kind.platform);
  if (kind.pattern > 0) {
    statement.bind(9, kind.pattern);
  } else {
    statement.bind_null(9);
  }
  statement.bind(11, kind.settings).bind(12, kind.decision_row).bind(13, kind.decision_source);
  statement.bind(14, kind.size).run();
}

void sighting(Connection& connection, const StoredSighting& row) {
  Statement statement(
      connection,
      "INSERT INTO sightings (workload, platform, pattern, first_at, last_at, runs) "
      "VALUES (?,?,?,?,?,?) ON CONFLICT DO UPDATE SET runs = max(runs, excluded.runs), "
      "first_at = min(first_at, excluded.first_at), last_at = max(last_at, excluded.last_at)");
  statement.bind(1, row.workload).bind(2, row.platform).bind(3, row.pattern);
  statement.bind(4, row.first_at).bind(5, row.last_at).bind(6, row.runs).run();
}

void total(Connection& connection, const StoredTotal& row) {
  Statement statement(
      connection,
      "INSERT INTO totals (pattern, platform, workload, settings, explored, size, rate, files, "
      "runs, bytes, seconds, last_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?) "
      "ON CONFLICT DO UPDATE SET files = excluded.files, runs = excluded.runs, "
      "bytes = excluded.bytes, seconds = excluded.seconds, "
      "last_at = max(last_at, excluded.last_at) WHERE excluded.files > files");
  const std::int64_t numbers[] = {row.pattern,  row.platform, row.workload, row.settings,
                                  row.explored, row.size,     row.rate,     row.files,
                                  row.runs,     row.bytes};
  int place = 0;
  for (const std::int64_t number : numbers) statement.bind(++place, number);
  statement.bind(11, row.seconds).bind(12, row.last_at).run();
}

bool model(Connection& connection, const StoredModel& row) {
  Statement finding(connection,
                    "SELECT 1 FROM models WHERE name=? AND kind=? AND platform IS ? AND made_at=?");
  Statement adding(connection,
                   "INSERT INTO models (name, kind, platform, made_at, payload) VALUES "
                   "(?,?,?,?,?)");
  for (Statement* statement : {&finding, &adding}) {
    statement->bind(1, row.name).bind(2, row.kind).bind(4, row.made_at);
    if (row.platform > 0) {
      statement->bind(3, row.platform);
    } else {
      statement->bind_null(3);
    }
  }
  if (finding.step()) return false;
  adding.bind(5, row.payload).run();
  return true;
}

}  // namespace iotune::patterndb::rows
