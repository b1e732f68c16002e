#include "patterndb/matching/neighbours.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

#include "patterndb/matching/nearest_answers.h"
#include "patterndb/store/sqlite.h"

namespace iotune::patterndb {

namespace {

// Of settings that were tried: below this they lost against the default.
constexpr double kLost = 0.97;
// Neighbours as near as this to the nearest one have a say.
constexpr double kSameDistance = 0.5;
constexpr std::size_t kMostNeighbours = 16;

std::string named(const Neighbour& neighbour) {
  std::string text = neighbour.answer.descriptor;
  if (!neighbour.answer.workload.empty()) text += " of " + neighbour.answer.workload;
  return text + " (row " + std::to_string(neighbour.answer.id) + ")";
}

constexpr const char* kOnPlatform =
    "f.filesystem = ?1 AND (?2 = '' OR f.mpi = ?2) AND (?3 = '' OR f.hdf5 = ?3) "
    "AND (?4 = '' OR f.host_class = ?4)";

// What is read of each of some patterns: statements that are prepared once, because an open waits.
class Reader {
 public:
  Reader(sqlite::Connection& db, const Platform& platform)
      : trials_(db, on_platform("SELECT m.payload FROM models m JOIN platforms f ON "
                                "f.id = m.platform WHERE m.name = ?5 AND ",
                                " ORDER BY m.made_at")),
        answers_(db, on_platform("SELECT s.text, t.gain FROM patterns p "
                                 "JOIN tunings t ON t.pattern = p.id "
                                 "JOIN settings s ON s.id = t.settings "
                                 "JOIN platforms f ON f.id = t.platform WHERE p.byte_key = ?5 "
                                 "AND t.gain IS NOT NULL AND s.text <> '' AND ",
                                 " ORDER BY t.made_at, t.id")),
        runs_(db, on_platform("SELECT s.text, (o.bytes_written + o.bytes_read) / o.seconds "
                              "FROM patterns p JOIN observations o ON o.pattern = p.id "
                              "JOIN settings s ON s.id = o.settings "
                              "JOIN platforms f ON f.id = o.platform "
                              "WHERE p.byte_key = ?5 AND o.seconds > 0 AND ",
                              " ORDER BY o.observed_at DESC LIMIT 200")),
        newest_(db, on_platform(std::string("SELECT ") + kShapeColumns +
                                    ", t.id, t.state, s.text, t.gain, t.low, t.high, t.rounds, "
                                    "t.default_share FROM patterns p "
                                    "JOIN tunings t ON t.pattern = p.id "
                                    "JOIN platforms f ON f.id = t.platform "
                                    "JOIN settings s ON s.id = t.settings "
                                    "WHERE p.byte_key = ?5 AND t.state <> 'untrained' AND ",
                                " ORDER BY t.made_at DESC, t.id DESC LIMIT 1")),
        workload_(db,
                  "SELECT w.program || ' ' || w.file FROM patterns p JOIN workload_patterns wp ON "
                  "wp.pattern = p.id JOIN workloads w ON w.id = wp.workload WHERE p.byte_key = ? "
                  "ORDER BY wp.last_seen DESC LIMIT 1") {
    for (sqlite::Statement* statement : {&trials_, &answers_, &runs_, &newest_}) {
      bind_platform(*statement, platform);
    }
  }

  // What the pattern gained under each of the settings that were tried on it.
  std::map<std::string, double> gains(const std::string& byte_key) {
    std::map<std::string, double> gains;
    add_trials(byte_key, gains);
    // Answers, also those that were taken back.
    for (about(answers_, byte_key); answers_.step();) gains[answers_.text(0)] = answers_.real(1);
    add_runs(byte_key, gains);
    return gains;
  }

  // The pattern and its newest answer.
  std::optional<Neighbour> neighbour(const NearPattern& near) {
    constexpr int kAnswer = 9;
    about(newest_, near.byte_key);
    if (!newest_.step()) return std::nullopt;
    const std::optional<State> state = state_named(newest_.text(kAnswer + 1));
    if (!state) return std::nullopt;
    Neighbour one;
    one.pattern = pattern_row(newest_, 0);
    one.byte_key = near.byte_key;
    one.distance = near.distance;
    one.answer.id = newest_.integer(kAnswer);
    one.answer.state = *state;
    one.answer.settings = newest_.text(kAnswer + 2);
    one.answer.descriptor = newest_.text(0);
    if (!newest_.null(kAnswer + 3)) one.answer.gain = newest_.real(kAnswer + 3);
    if (!newest_.null(kAnswer + 4)) one.answer.low = newest_.real(kAnswer + 4);
    if (!newest_.null(kAnswer + 5)) one.answer.high = newest_.real(kAnswer + 5);
    one.answer.rounds = static_cast<std::uint64_t>(newest_.integer(kAnswer + 6));
    one.answer.default_share = newest_.real(kAnswer + 7);
    workload_.reset();
    workload_.bind(1, near.byte_key);
    if (workload_.step()) one.answer.workload = workload_.text(0);
    return one;
  }

 private:
  static std::string on_platform(const std::string& before, const char* after) {
    return before + kOnPlatform + after;
  }
  static void about(sqlite::Statement& statement, const std::string& byte_key) {
    statement.reset();
    statement.bind(5, byte_key);
  }

  // Trials of training: lines of a gain, a blank and canonical settings.
  void add_trials(const std::string& byte_key, std::map<std::string, double>& gains) {
    for (about(trials_, "trials " + byte_key); trials_.step();) {
      std::istringstream lines(trials_.text(0));
      double gain = 0;
      std::string settings;
      while (lines >> gain && lines.get() == ' ' && std::getline(lines, settings)) {
        if (gain > 0) gains[settings] = gain;
      }
    }
  }

  // Runs of programs, only where they leave no doubt: three or more with the settings, all of them
  // slower than every one with the default, or all of them faster.
  void add_runs(const std::string& byte_key, std::map<std::string, double>& gains) {
    std::map<std::string, std::vector<double>> rates;
    for (about(runs_, byte_key); runs_.step();) rates[runs_.text(0)].push_back(runs_.real(1));
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

  sqlite::Statement trials_, answers_, runs_, newest_, workload_;
};

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
    result.distance = around.incomparable_distance;
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
  // An answer that was said by hand is an order for its own pattern, and proves nothing.
  const bool proven_here = own != around.gains.end();
  if (!proven_here && !nearest.gains.contains(nearest.answer.settings)) {
    result.why = "refused the settings of " + far + ": they were said by hand, and never measured";
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
    sqlite::Statement self(*connection_, std::string("SELECT ") + kShapeColumns +
                                             " FROM patterns p WHERE p.byte_key = ? LIMIT 1");
    self.bind(1, byte_key);
    Geometry own;
    if (!self.step()) return around;
    around.pattern = pattern_row(self, 0);
    if (!geometry_of(around.pattern, own)) {
      around.nearest_incomparable = "it is irregular";
      return around;
    }
    Reader reader(*connection_, platform);
    for (const NearPattern& near :
         nearest_answers(*connection_, byte_key, around.pattern, own, platform, kMostNeighbours)) {
      std::optional<Neighbour> one = reader.neighbour(near);
      if (!one) continue;
      one->gains = reader.gains(near.byte_key);
      around.neighbours.push_back(std::move(*one));
    }
    around.gains = reader.gains(byte_key);
    if (!around.neighbours.empty()) return around;
    for (const NearPattern& near :
         nearest_behind_walls(*connection_, byte_key, around.pattern, own, platform)) {
      const std::optional<Neighbour> one = reader.neighbour(near);
      if (!one) continue;
      around.incomparable_distance = near.distance;
      around.nearest_incomparable = "nearest is " + one->answer.descriptor + " in row " +
                                    std::to_string(one->answer.id) + " at distance " +
                                    number(near.distance) + ", but " +
                                    incomparable(around.pattern, one->pattern);
    }
    return around;
  });
}

}  // namespace iotune::patterndb
