#include "patterndb/neighbours.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "patterndb/sqlite.h"

namespace iotune::patterndb {

namespace {

// Of settings that were tried: below this they lost against the default.
constexpr double kLost = 0.97;
// Neighbours as near as this to the nearest one have a say.
constexpr double kSameDistance = 0.5;
constexpr std::size_t kMostNeighbours = 16;
constexpr std::uint64_t kMostRanksApart = 4;

std::string number(double value) {
  char text[32];
  snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string named(const Neighbour& neighbour) {
  std::string text = neighbour.answer.descriptor;
  if (!neighbour.answer.workload.empty()) text += " of " + neighbour.answer.workload;
  return text + " (row " + std::to_string(neighbour.answer.id) + ")";
}

// Columns from `first` on: descriptor, op, element_bytes, ranks, grid, mode, chunk, filters,
// dataset_dims.
Pattern pattern_row(const sqlite::Statement& row, int first) {
  Pattern pattern;
  Result<ParsedDescriptor> descriptor = parse_descriptor(row.text(first));
  if (descriptor) pattern.descriptor = *descriptor;
  pattern.write = row.text(first + 1) == "write";
  pattern.element_bytes = static_cast<std::uint64_t>(row.integer(first + 2));
  pattern.ranks = static_cast<std::uint64_t>(row.integer(first + 3));
  pattern.grid = split_numbers(row.text(first + 4));
  pattern.mode = row.text(first + 5);
  pattern.chunk = split_numbers(row.text(first + 6));
  pattern.filters = static_cast<std::uint64_t>(row.integer(first + 7));
  pattern.dataset_dims = split_numbers(row.text(first + 8));
  return pattern;
}

constexpr const char* kPattern =
    "p.descriptor, p.op, p.element_bytes, p.ranks, p.grid, p.mode, p.chunk, p.filters, "
    "p.dataset_dims";
constexpr const char* kOnPlatform =
    "f.filesystem = ?1 AND (?2 = '' OR f.mpi = ?2) AND (?3 = '' OR f.hdf5 = ?3) "
    "AND (?4 = '' OR f.host_class = ?4)";

void bind_platform(sqlite::Statement& statement, const Platform& platform) {
  statement.bind(1, platform.filesystem).bind(2, platform.mpi);
  statement.bind(3, platform.hdf5).bind(4, platform.host_class);
}

// Trials of training: lines of a gain, a blank and canonical settings.
void add_trials(sqlite::Connection& db, const std::string& byte_key, const Platform& platform,
                std::map<std::string, double>& gains) {
  sqlite::Statement trials(db, std::string("SELECT m.payload FROM models m JOIN platforms f ON "
                                           "f.id = m.platform WHERE m.name = ?5 AND ") +
                                   kOnPlatform + " ORDER BY m.made_at");
  bind_platform(trials, platform);
  trials.bind(5, "trials " + byte_key);
  while (trials.step()) {
    std::istringstream lines(trials.text(0));
    double gain = 0;
    std::string settings;
    while (lines >> gain && lines.get() == ' ' && std::getline(lines, settings)) {
      if (gain > 0) gains[settings] = gain;
    }
  }
}

// Answers, also those that were taken back.
void add_answers(sqlite::Connection& db, const std::string& byte_key, const Platform& platform,
                 std::map<std::string, double>& gains) {
  sqlite::Statement rows(
      db, std::string("SELECT s.text, t.gain FROM patterns p JOIN tunings t ON t.pattern = p.id "
                      "JOIN settings s ON s.id = t.settings JOIN platforms f ON f.id = t.platform "
                      "WHERE p.byte_key = ?5 AND t.gain IS NOT NULL AND s.text <> '' AND ") +
              kOnPlatform + " ORDER BY t.made_at, t.id");
  bind_platform(rows, platform);
  rows.bind(5, byte_key);
  while (rows.step()) gains[rows.text(0)] = rows.real(1);
}

// Runs of programs, only where they leave no doubt: three or more with the settings, all of them
// slower than every one with the default, or all of them faster.
void add_runs(sqlite::Connection& db, const std::string& byte_key, const Platform& platform,
              std::map<std::string, double>& gains) {
  sqlite::Statement rows(
      db, std::string("SELECT s.text, (o.bytes_written + o.bytes_read) / o.seconds "
                      "FROM patterns p JOIN observations o ON o.pattern = p.id "
                      "JOIN settings s ON s.id = o.settings JOIN platforms f ON f.id = o.platform "
                      "WHERE p.byte_key = ?5 AND o.seconds > 0 AND ") +
              kOnPlatform + " ORDER BY o.observed_at DESC LIMIT 200");
  bind_platform(rows, platform);
  rows.bind(5, byte_key);
  std::map<std::string, std::vector<double>> rates;
  while (rows.step()) rates[rows.text(0)].push_back(rows.real(1));
  std::vector<double>& plain = rates[""];
  if (plain.empty()) return;
  std::sort(plain.begin(), plain.end());
  for (auto& [settings, own] : rates) {
    if (settings.empty() || own.size() < 3) continue;
    std::sort(own.begin(), own.end());
    if (own.back() < plain.front() || own.front() > plain.back()) {
      gains[settings] = own[own.size() / 2] / plain[plain.size() / 2];
    }
  }
}

std::map<std::string, double> gains_of(sqlite::Connection& db, const std::string& byte_key,
                                       const Platform& platform) {
  std::map<std::string, double> gains;
  add_trials(db, byte_key, platform, gains);
  add_answers(db, byte_key, platform, gains);
  add_runs(db, byte_key, platform, gains);
  return gains;
}

// The shortest way that settings went from one pattern to another and lost there.
struct Loss {
  double distance = -1;  // -1: none is known
  std::string text;
};

Loss nearest_loss(const Neighbourhood& around) {
  Loss loss;
  for (const Neighbour& giver : around.neighbours) {
    if (giver.answer.state != State::kTuned) continue;
    Geometry from;
    if (!geometry_of(giver.pattern, from)) continue;
    for (const Neighbour& taker : around.neighbours) {
      const auto tried = taker.gains.find(giver.answer.settings);
      if (taker.byte_key == giver.byte_key || tried == taker.gains.end()) continue;
      Geometry to;
      if (tried->second >= kLost || !geometry_of(taker.pattern, to)) continue;
      const double apart = distance(from, giver.pattern.ranks, to, taker.pattern.ranks);
      if (loss.distance >= 0 && apart >= loss.distance) continue;
      loss.distance = apart;
      loss.text = "settings of " + named(giver) + " made " + named(taker) + ", as near, " +
                  number(tried->second) + " times as fast";
    }
  }
  return loss;
}

}  // namespace

Judgement judge(const Neighbourhood& around) {
  Judgement result;
  if (around.neighbours.empty()) {
    result.why =
        around.nearest_incomparable.empty()
            ? "no pattern with an answer on this platform resembles it"
            : "none with an answer here resembles it (" + around.nearest_incomparable + ")";
    return result;
  }
  const Neighbour& nearest = around.neighbours.front();
  result.distance = nearest.distance;
  const std::string far = named(nearest) + " at distance " + number(nearest.distance);
  if (nearest.distance > kFarthest) {
    result.why = "the nearest answer is that of " + far + ", too far (" + number(kFarthest) + ")";
    return result;
  }
  if (nearest.answer.state != State::kTuned) {
    result.trusted = &nearest;
    result.why = "similar to " + far;
    return result;
  }
  const auto own = around.gains.find(nearest.answer.settings);
  if (own != around.gains.end() && own->second < kLost) {
    result.why = "refused the settings of " + far + ": here they measured " + number(own->second) +
                 " times the default's speed";
    return result;
  }
  for (const Neighbour& other : around.neighbours) {
    if (other.distance > nearest.distance + kSameDistance) break;
    if (other.answer.state == State::kTuned) continue;
    result.why = "refused the settings of " + far + ": " + named(other) + " at distance " +
                 number(other.distance) + " is best left alone";
    return result;
  }
  const Loss loss = nearest_loss(around);
  const bool proven_here = own != around.gains.end();
  if (!proven_here && loss.distance >= 0 && loss.distance <= nearest.distance) {
    result.why = "refused the settings of " + far + ": " + loss.text;
    return result;
  }
  result.trusted = &nearest;
  result.why = "similar to " + far;
  return result;
}

Result<Neighbourhood> PatternDb::neighbourhood(const std::string& byte_key,
                                               const Platform& platform) noexcept {
  return guarded<Neighbourhood>([&] {
    Neighbourhood around;
    sqlite::Statement self(*connection_, std::string("SELECT ") + kPattern +
                                             " FROM patterns p WHERE p.byte_key = ? LIMIT 1");
    self.bind(1, byte_key);
    Geometry own;
    if (!self.step()) return around;
    around.pattern = pattern_row(self, 0);
    if (!geometry_of(around.pattern, own)) {
      around.nearest_incomparable = "it is irregular";
      return around;
    }
    sqlite::Statement rows(
        *connection_,
        std::string("SELECT ") + kPattern +
            ", p.byte_key, t.id, t.state, s.text, t.gain, t.low, t.high, t.rounds, t.made_at, "
            "t.default_share FROM patterns p JOIN tunings t ON t.pattern = p.id "
            "JOIN platforms f ON f.id = t.platform JOIN settings s ON s.id = t.settings "
            "WHERE p.op = ?5 AND p.ranks BETWEEN ?6 AND ?7 AND p.byte_key <> ?8 AND "
            "t.state <> 'untrained' AND " +
            kOnPlatform + " ORDER BY t.made_at, t.id");
    bind_platform(rows, platform);
    rows.bind(5, std::string(around.pattern.write ? "write" : "read"));
    rows.bind(6, around.pattern.ranks / kMostRanksApart);
    rows.bind(7, around.pattern.ranks * kMostRanksApart).bind(8, byte_key);
    std::map<std::string, Neighbour> newest;
    double nearest_wall = -1;
    constexpr int kAnswer = 9;
    while (rows.step()) {
      Neighbour one;
      one.pattern = pattern_row(rows, 0);
      one.byte_key = rows.text(kAnswer);
      Geometry geometry;
      if (!geometry_of(one.pattern, geometry)) continue;
      one.distance = distance(own, around.pattern.ranks, geometry, one.pattern.ranks);
      std::optional<State> state = state_named(rows.text(kAnswer + 2));
      if (!state) continue;
      const std::string wall = incomparable(around.pattern, one.pattern);
      if (!wall.empty()) {
        if (nearest_wall < 0 || one.distance < nearest_wall) {
          nearest_wall = one.distance;
          around.nearest_incomparable = "nearest is " + rows.text(0) + " in row " +
                                        std::to_string(rows.integer(kAnswer + 1)) +
                                        " at distance " + number(one.distance) + ", but " + wall;
        }
        continue;
      }
      one.answer.id = rows.integer(kAnswer + 1);
      one.answer.state = *state;
      one.answer.settings = rows.text(kAnswer + 3);
      one.answer.descriptor = rows.text(0);
      if (!rows.null(kAnswer + 4)) one.answer.gain = rows.real(kAnswer + 4);
      if (!rows.null(kAnswer + 5)) one.answer.low = rows.real(kAnswer + 5);
      if (!rows.null(kAnswer + 6)) one.answer.high = rows.real(kAnswer + 6);
      one.answer.rounds = static_cast<std::uint64_t>(rows.integer(kAnswer + 7));
      one.answer.default_share = rows.real(kAnswer + 9);
      newest[one.byte_key] = std::move(one);  // later rows are newer
    }
    for (auto& [key, one] : newest) around.neighbours.push_back(std::move(one));
    const std::size_t kept = std::min(around.neighbours.size(), kMostNeighbours);
    std::partial_sort(
        around.neighbours.begin(), around.neighbours.begin() + static_cast<std::ptrdiff_t>(kept),
        around.neighbours.end(), [](const Neighbour& a, const Neighbour& b) {
          return a.distance != b.distance ? a.distance < b.distance : a.answer.id < b.answer.id;
        });
    around.neighbours.resize(kept);
    around.gains = gains_of(*connection_, byte_key, platform);
    for (Neighbour& one : around.neighbours) {
      one.gains = gains_of(*connection_, one.byte_key, platform);
      sqlite::Statement workload(
          *connection_,
          "SELECT w.program || ' ' || w.file FROM patterns p JOIN workload_patterns wp ON "
          "wp.pattern = p.id JOIN workloads w ON w.id = wp.workload WHERE p.byte_key = ? "
          "ORDER BY wp.last_seen DESC LIMIT 1");
      workload.bind(1, one.byte_key);
      if (workload.step()) one.answer.workload = workload.text(0);
    }
    return around;
  });
}

}  // namespace iotune::patterndb
