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
  statement.bind(6, static_cast<std::int64_t>(use.speaker)).bind(7, use.last_seen);
  statement.bind(8, static_cast<std::int64_t>(use.settled));
  statement.run();
}

void drift(Connection& connection, const StoredDrift& drift) {
  Statement statement(connection,
                      "INSERT INTO drifts (workload, before, after, run, observed_at) "
                      "VALUES (?,?,?,?,?) ON CONFLICT DO NOTHING");
  statement.bind(1, drift.workload).bind(2, drift.before).bind(3, drift.after);
  statement.bind(4, drift.run).bind(5, drift.observed_at);
  statement.run();
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

bool observation(Connection& connection, const StoredObservation& row) {
  Statement statement(
      connection,
      "INSERT INTO observations (spool_file, item, run, trace, program_path, file_path, workload, "
      "platform, pattern, settings, decision_source, decision_row, bytes_written, "
      "bytes_read, seconds, elapsed_seconds, observed_at) "
      "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (spool_file, item) DO NOTHING");
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
  statement.run();
  return sqlite3_changes(connection.handle()) > 0;
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
