#include "patterndb/gains/predicted.h"

#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string_view>

#include "patterndb/gains/gain_model.h"
#include "patterndb/matching/nearest_answers.h"
#include "patterndb/settings/parameters.h"

namespace iotune::patterndb {

namespace {

// A smaller gain is not worth a setting (models/train.py).
constexpr double kWorthwhile = 1.02;

bool is_striped(const std::string& filesystem) {
  return filesystem == "lustre" || filesystem == "cephfs";
}

// Whether the settings make sense for this file: as many aggregators as ranks at most, layouts of
// new files alone.
bool fits(const Settings& settings, const Pattern& pattern, bool creating) {
  for (const auto& [name, value] : settings.values()) {
    const double number = strtod(value.c_str(), nullptr);
    if (name == "cb_nodes" && number > static_cast<double>(pattern.ranks)) return false;
    if (name.starts_with("striping_") && !creating) return false;
    // What changes how others can read the file must be asked for.
    const Parameter* const parameter = find_parameter(name.c_str());
    if (parameter == nullptr || parameter->disk == DiskEffect::kLayout) return false;
    // It has another file's size.
    if (name == "fallocate") return false;
  }
  return true;
}

bool changes_nothing_on_disk(const Settings& settings) {
  return std::ranges::all_of(settings.values(), [](const auto& one) {
    const Parameter* const parameter = find_parameter(one.first.c_str());
    return parameter != nullptr && parameter->disk == DiskEffect::kNone;
  });
}

}  // namespace

Predicted predicted(const StoredGainModel& stored, const PatternOfFile& file,
                    const Platform& platform, std::uint32_t nodes, bool creating) {
  Predicted found;
  Result<GainModel> model = GainModel::parse(stored.payload);
  if (!model) {
    found.why = "the model of this platform is left alone (" + model.error().text() +
                "): iotune train --survey fits another";
    return found;
  }
  FeatureQuestion question;
  question.nodes = nodes;
  question.datasets = file.datasets;
  question.repeats = file.repeats;
  question.striped = is_striped(platform.filesystem);
  Features without{};
  if (!features_of(file.pattern, question, Settings(), without)) {
    found.why = "the pattern has no features that a model could know";
    return found;
  }
  const char* const outside = model->out_of_range(without);
  double hoped = kWorthwhile;
  std::optional<PredictedAnswer>& best = found.answer;
  std::istringstream lines(stored.candidates);
  for (std::string line; std::getline(lines, line);) {
    Result<Settings> settings = Settings::parse(line);
    Features with{};
    if (!settings || settings->empty() || !fits(*settings, file.pattern, creating)) continue;
    if (!features_of(file.pattern, question, *settings, with)) continue;
    const PredictedGain gain = model->gain(with, without);
    const double expected = std::exp(gain.log_gain);
    if (expected > hoped && changes_nothing_on_disk(*settings)) {
      hoped = expected;
      found.hopeful = *settings;
    }
    if (gain.sure <= 0 || expected < kWorthwhile || (best && best->gain >= expected)) continue;
    best = PredictedAnswer{std::move(*settings), expected,        std::exp(gain.sure),
                           std::exp(gain.high),  stored.patterns, stored.made_at};
  }
  if (!best) found.why = "the model expects no gain that it is sure of";
  if (!best && outside != nullptr) {
    found.why += std::string(": its ") + outside + " lies outside of what it was fitted to";
  }
  return found;
}

Result<std::optional<PatternOfFile>> PatternDb::pattern_of_file(
    const Workload& workload, const std::string& byte_key) noexcept {
  return guarded<std::optional<PatternOfFile>>([&]() -> std::optional<PatternOfFile> {
    sqlite::Statement row(
        *connection_,
        std::string("SELECT ") + kShapeColumns +
            ", wp.datasets, wp.repeats FROM workloads w "
            "JOIN workload_patterns wp ON wp.workload = w.id JOIN patterns p ON p.id = wp.pattern "
            "WHERE w.program=? AND w.file=? AND w.ranks=? AND w.nodes=? AND p.byte_key=? "
            "ORDER BY wp.last_seen DESC, p.id LIMIT 1");
    row.with(workload.program, workload.file, workload.ranks, workload.nodes, byte_key);
    if (!row.step()) return std::nullopt;
    return PatternOfFile{pattern_row(row, 0), static_cast<std::uint64_t>(row.integer(9)),
                         static_cast<std::uint64_t>(row.integer(10))};
  });
}

}  // namespace iotune::patterndb
