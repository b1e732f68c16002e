#include "patterndb/store/rows.h"

#include <cmath>
#include <optional>

#include "patterndb/matching/geometry.h"

namespace iotune::patterndb::rows {

using sqlite::Connection;
using sqlite::Statement;

namespace {

// `find` and `add` take the same parameters in the same order.
template <typename... Values>
std::int64_t find_or_add(Connection& connection, const char* find, const char* add,
                         const Values&... values) {
  Statement finding(connection, find);
  if (finding.with(values...).step()) return finding.integer(0);
  Statement(connection, add).with(values...).run();
  return connection.last_row();
}

std::string distributions(const Pattern& pattern) {
  std::string text;
  for (const auto& dimension : pattern.descriptor.dimensions) {
    if (!text.empty()) text += ',';
    text += analyzer::distribution_text(dimension);
  }
  return text;
}

}  // namespace

std::int64_t platform(Connection& connection, const Platform& platform) {
  return find_or_add(
      connection,
      "SELECT id FROM platforms WHERE filesystem=? AND mpi=? AND hdf5=? AND host_class=?",
      "INSERT INTO platforms (filesystem, mpi, hdf5, host_class) VALUES (?,?,?,?)",
      platform.filesystem, platform.mpi, platform.hdf5, platform.host_class);
}

std::int64_t workload(Connection& connection, const Workload& workload) {
  return find_or_add(connection,
                     "SELECT id FROM workloads WHERE program=? AND file=? AND ranks=? AND nodes=?",
                     "INSERT INTO workloads (program, file, ranks, nodes) VALUES (?,?,?,?)",
                     workload.program, workload.file, workload.ranks, workload.nodes);
}

std::int64_t pattern(Connection& connection, const Pattern& pattern) {
  std::string key = byte_key(pattern);
  std::string descriptor = pattern.descriptor.text();
  std::string dims = joined(pattern.dataset_dims);
  Statement finding(connection,
                    "SELECT id FROM patterns WHERE byte_key=? AND descriptor=? AND "
                    "element_bytes=? AND dataset_dims=?");
  finding.with(key, descriptor, pattern.element_bytes, dims);
  if (finding.step()) return finding.integer(0);

  analyzer::Descriptor bytes = in_bytes(pattern.descriptor, pattern.element_bytes);
  std::vector<std::uint64_t> byte_counts;
  for (const auto& dimension : bytes.dimensions) byte_counts.push_back(dimension.count);
  Statement adding(connection,
                   "INSERT INTO patterns (byte_key, byte_descriptor, descriptor, op, dimensions, "
                   "distributions, byte_counts, element_bytes, ranks, grid, mode, chunk, filters, "
                   "dataset_dims, wall, piece_doublings, pieces_doublings) "
                   "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  Geometry geometry;
  std::optional<std::string> wall;
  std::optional<double> piece, pieces;
  if (geometry_of(pattern, geometry)) {
    wall = wall_of(pattern, geometry);
    piece = std::log2(geometry.piece_bytes);
    pieces = std::log2(geometry.pieces);
  }
  adding
      .with(key, bytes.text(), descriptor, pattern.write ? "write" : "read",
            std::uint64_t{bytes.dimensions.size()}, distributions(pattern), joined(byte_counts),
            pattern.element_bytes, pattern.ranks, joined(pattern.grid), pattern.mode,
            joined(pattern.chunk), pattern.filters, dims, wall, piece, pieces)
      .run();
  return connection.last_row();
}

std::int64_t settings(Connection& connection, const std::string& canonical_text) {
  return find_or_add(connection, "SELECT id FROM settings WHERE text=?",
                     "INSERT INTO settings (text) VALUES (?)", canonical_text);
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
  statement.with(use.workload, use.pattern, use.dataset, use.datasets, use.repeats, use.is_dominant,
                 use.last_seen, use.settled);
  statement.run();
}

void drift(Connection& connection, const StoredDrift& drift) {
  Statement newest(connection,
                   "SELECT observed_at FROM drifts WHERE workload = ? ORDER BY observed_at DESC "
                   "LIMIT 1 OFFSET ?");
  newest.with(drift.workload, static_cast<std::uint64_t>(kKeptDrifts - 1));
  if (newest.step() && drift.observed_at <= newest.real(0)) return;  // it was counted before
  Statement statement(connection,
                      "INSERT INTO drifts (workload, before, after, run, observed_at, times) "
                      "VALUES (?,?,?,?,?,?) ON CONFLICT DO NOTHING");
  statement.with(drift.workload, drift.before, drift.after, drift.run, drift.observed_at,
                 drift.times);
  statement.run();
  // The oldest that is kept counts for those before it.
  Statement older(connection,
                  "SELECT count(*), sum(times), max(observed_at) FROM (SELECT times, observed_at "
                  "FROM drifts WHERE workload = ? ORDER BY observed_at DESC LIMIT -1 OFFSET ?)");
  older.with(drift.workload, static_cast<std::uint64_t>(kKeptDrifts));
  if (!older.step() || older.integer(0) == 0) return;
  Statement drop(connection, "DELETE FROM drifts WHERE workload = ? AND observed_at <= ?");
  drop.with(drift.workload, older.real(2)).run();
  Statement add(connection,
                "UPDATE drifts SET times = times + ?2 WHERE id = (SELECT id FROM drifts "
                "WHERE workload = ?1 ORDER BY observed_at LIMIT 1)");
  add.with(drift.workload, older.integer(1)).run();
}

std::optional<std::int64_t> find_tuning(Connection& connection, const StoredTuning& keys,
                                        const Tuning& evidence) {
  Statement finding(connection,
                    "SELECT id FROM tunings WHERE pattern=? AND platform=? AND settings=? AND "
                    "state=? AND made_at=? AND source=?");
  finding.with(keys.pattern, keys.platform, keys.settings, state_name(evidence.state),
               evidence.made_at, evidence.source);
  if (!finding.step()) return std::nullopt;
  return finding.integer(0);
}

Added tuning(Connection& connection, const StoredTuning& keys, const Tuning& evidence) {
  if (const auto found = find_tuning(connection, keys, evidence)) return {*found, false};
  Statement adding(connection,
                   "INSERT INTO tunings (pattern, platform, settings, state, made_at, source, "
                   "rounds, gain, low, high, default_share, evidence, replaces) "
                   "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)");
  adding.with(keys.pattern, keys.platform, keys.settings, state_name(evidence.state),
              evidence.made_at, evidence.source, evidence.rounds, evidence.gain, evidence.low,
              evidence.high, evidence.default_share, evidence.evidence,
              sqlite::or_null(evidence.replaces));
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
  return !earlier.with(row.spool_file, row.workload, row.platform, row.pattern).step();
}

void add_sighting(Connection& connection, const StoredObservation& row) {
  Statement statement(
      connection,
      "INSERT INTO sightings (workload, platform, pattern, first_at, last_at, runs) "
      "VALUES (?1,?2,?3,?4,?4,?5) ON CONFLICT DO UPDATE SET runs = runs + excluded.runs, "
      "first_at = min(first_at, excluded.first_at), last_at = max(last_at, excluded.last_at)");
  statement
      .with(row.workload, row.platform, row.pattern, row.observed_at,
            is_first_of_its_run(connection, row))
      .run();
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
  statement.with(row.spool_file, row.item, row.run, row.trace, row.program, row.path, row.workload,
                 row.platform, sqlite::or_null(row.pattern), row.settings, row.decision_source,
                 row.decision_row, row.bytes_written, row.bytes_read, row.seconds,
                 row.elapsed_seconds, row.observed_at, row.files, kind.size);
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
  statement.with(row.files, row.bytes_written, row.bytes_read, row.seconds, row.elapsed_seconds,
                 row.observed_at, row.spool_file, kind.workload, sqlite::or_null(kind.pattern),
                 kind.platform, kind.settings, kind.decision_row, kind.decision_source, kind.size);
  statement.run();
}

void sighting(Connection& connection, const StoredSighting& row) {
  Statement statement(
      connection,
      "INSERT INTO sightings (workload, platform, pattern, first_at, last_at, runs) "
      "VALUES (?,?,?,?,?,?) ON CONFLICT DO UPDATE SET runs = max(runs, excluded.runs), "
      "first_at = min(first_at, excluded.first_at), last_at = max(last_at, excluded.last_at)");
  statement.with(row.workload, row.platform, row.pattern, row.first_at, row.last_at, row.runs)
      .run();
}

void total(Connection& connection, const StoredTotal& row) {
  Statement statement(
      connection,
      "INSERT INTO totals (pattern, platform, workload, settings, explored, size, rate, files, "
      "runs, bytes, seconds, last_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?) "
      "ON CONFLICT DO UPDATE SET files = excluded.files, runs = excluded.runs, "
      "bytes = excluded.bytes, seconds = excluded.seconds, "
      "last_at = max(last_at, excluded.last_at) WHERE excluded.files > files");
  statement.with(row.pattern, row.platform, row.workload, row.settings, row.explored, row.size,
                 row.rate, row.files, row.runs, row.bytes, row.seconds, row.last_at);
  statement.run();
}

bool model(Connection& connection, const StoredModel& row) {
  Statement finding(connection,
                    "SELECT 1 FROM models WHERE name=? AND kind=? AND platform IS ? AND made_at=?");
  Statement adding(connection,
                   "INSERT INTO models (name, kind, platform, made_at, payload) VALUES "
                   "(?,?,?,?,?)");
  const auto platform = sqlite::or_null(row.platform);
  if (finding.with(row.name, row.kind, platform, row.made_at).step()) return false;
  adding.with(row.name, row.kind, platform, row.made_at, row.payload).run();
  return true;
}

std::optional<std::string> newest_model(Connection& connection, const std::string& name,
                                        const Platform& platform) {
  Statement finding(connection,
                    "SELECT m.payload FROM models m JOIN platforms f ON f.id = m.platform "
                    "WHERE m.name = ?1 AND f.filesystem = ?2 AND f.mpi = ?3 AND f.hdf5 = ?4 AND "
                    "f.host_class = ?5 ORDER BY m.made_at DESC, m.id DESC LIMIT 1");
  finding.with(name, platform.filesystem, platform.mpi, platform.hdf5, platform.host_class);
  if (!finding.step()) return std::nullopt;
  return finding.text(0);
}

}  // namespace iotune::patterndb::rows
