#include "patterndb/series.h"

#include <algorithm>
#include <cmath>

#include "patterndb/parameters.h"
#include "patterndb/places.h"

namespace iotune::patterndb {

namespace {

constexpr std::size_t kMostSeries = 64;
// A file beats its neighbours only by more than this: less is not worth a change.
constexpr double kMargin = 1.03;
// Wald's test on the sign of what was won and lost: 0.5 against 0.9, wrong in 5 % of all series
// (shared by up to three candidates) where nothing is to be gained, and in 10 % where it is.
const double kWin = std::log(0.9 / 0.5), kLoss = std::log(0.1 / 0.5);
const double kAccept = std::log(0.9 / (0.05 / 3)), kReject = std::log(0.1 / (1 - 0.05 / 3));
constexpr int kMostDraws = 6;
// Once it is decided, one file in so many is the default's, to notice when that changes.
constexpr int kCheckEvery = 8;
constexpr int kEnoughAgainst = 2;
// Nothing is tried before the third file in a row whose numbers count up: a program that writes two
// files, or the same one again and again, has no time to win back what a bad candidate costs.
constexpr int kFewestRises = 2;

std::string key_of(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  return (slash == std::string::npos ? "" : file.substr(0, slash + 1)) + masked_name(file);
}

// Its runs of digits, without leading zeros.
std::vector<std::string> numbers_of(const std::string& file) {
  std::vector<std::string> numbers;
  bool in_digits = false;
  for (std::size_t i = file.rfind('/') + 1; i < file.size(); ++i) {
    const bool digit = file[i] >= '0' && file[i] <= '9';
    if (digit && !in_digits) numbers.emplace_back();
    if (digit && (file[i] != '0' || !numbers.back().empty())) numbers.back() += file[i];
    in_digits = digit;
  }
  return numbers;
}

bool counts_up(const std::vector<std::string>& before, const std::vector<std::string>& now) {
  for (std::size_t i = 0; i < std::min(before.size(), now.size()); ++i) {
    if (before[i].size() != now[i].size()) return before[i].size() < now[i].size();
    if (before[i] != now[i]) return before[i] < now[i];
  }
  return false;
}

}  // namespace

std::vector<std::string> series_candidates(bool collective, std::uint32_t ranks) {
  if (ranks < 2) return {};
  if (!collective) return {"romio_ds_write=disable"};
  return {"romio_cb_write=disable", "cb_config_list=*:2;cb_nodes=2",
          "dxpl_mpio_collective_opt=individual"};
}

// In turns: the default, a candidate, the default, the next candidate.
int SeriesTable::next_arm(const Series& series) {
  if (series.settled) {
    if (series.winner == kDefault) return kDefault;
    return (series.files - series.decided_at) % kCheckEvery == 0 ? kDefault : series.winner;
  }
  if (!series.started || series.rises < kFewestRises) return kDefault;
  if (series.tried != kDefault || series.before <= 0) return kDefault;
  const int count = static_cast<int>(series.arms.size());
  for (int step = 1; step <= count; ++step) {
    const int arm = (series.last + step + count) % count;
    if (!series.arms[static_cast<std::size_t>(arm)].dropped) return arm;
  }
  return kDefault;
}

std::optional<Decision> SeriesTable::next(const Question& question) {
  if (!question.creating || question.layer != "hdf5" || question.ranks < 2) return std::nullopt;
  const std::string key = key_of(question.file);
  auto found = series_.find(key);
  if (found == series_.end()) {
    // A name without a number is no series.
    if (key.find('#') == std::string::npos || series_.size() >= kMostSeries) return std::nullopt;
    Series fresh;
    fresh.name = masked_name(question.file);
    fresh.ranks = question.ranks;
    found = series_.emplace(key, std::move(fresh)).first;
  }
  Series& series = found->second;
  if (series.ranks != question.ranks || !series.open_file.empty()) {
    // Two at a time cannot be told apart, and a file that never closed has no rate.
    series.open_file.clear();
    series.running = series.tried = kDefault;
    series.before = series.between = 0;
    series.ranks = question.ranks;
    return std::nullopt;
  }
  series.open_file = question.file;
  std::vector<std::string> numbers = numbers_of(question.file);
  series.rises = counts_up(series.numbers, numbers) ? series.rises + 1 : 0;
  series.numbers = std::move(numbers);
  series.files += 1;
  series.running = next_arm(series);
  if (!series.started) return std::nullopt;
  return decision_of(series);
}

Decision SeriesTable::decision_of(const Series& series) {
  Decision decision;
  decision.source = "series";
  decision.message =
      "file " + std::to_string(series.files) + " of " + series.name + " in this run: ";
  const int shown = series.running != kDefault ? series.running : series.winner;
  std::string score;
  if (shown != kDefault) {
    const Arm& arm = series.arms[static_cast<std::size_t>(shown)];
    score = arm.settings.text() + " with " + std::to_string(arm.wins) + " won and " +
            std::to_string(arm.losses) + " lost against the default";
  }
  if (series.running != kDefault) {
    decision.settings = series.arms[static_cast<std::size_t>(series.running)].settings;
  }
  if (series.settled && series.winner != kDefault) {
    decision.state = State::kTuned;
    decision.message +=
        series.running == kDefault ? "the default once more, to compare with " : "decided for ";
  } else if (series.settled) {
    decision.state = State::kDefaultIsBest;
    decision.message += "no candidate was faster, the default stays";
  } else {
    const bool early = series.rises < kFewestRises;
    decision.message += series.running != kDefault ? "tries "
                        : early ? "no series of names that count up yet, the default"
                                : "the default's turn";
  }
  decision.message += score;
  return decision;
}

void SeriesTable::closed(const std::string& file, double seconds, std::uint64_t bytes,
                         bool collective) {
  const auto found = series_.find(key_of(file));
  if (found == series_.end() || found->second.open_file != file) return;
  Series& series = found->second;
  series.open_file.clear();
  if (seconds <= 0 || bytes == 0) return;
  const double rate = static_cast<double>(bytes) / seconds;
  if (!series.started) {
    series.started = true;
    for (const std::string& text : series_candidates(collective, series.ranks)) {
      Result<Settings> settings = Settings::parse(text);
      if (settings) series.arms.push_back({*settings});
    }
    series.settled = series.arms.empty();
  }
  if (series.settled) {
    if (series.winner != kDefault) check_winner(series, rate);
    return;
  }
  if (series.running != kDefault) {
    series.tried = series.last = series.running;
    series.between = rate;
    return;
  }
  if (series.tried != kDefault) judge(series, rate);
  series.tried = kDefault;
  series.before = rate;
}

// The default has just run behind a candidate that ran behind a default.
void SeriesTable::judge(Series& series, double rate) {
  Arm& arm = series.arms[static_cast<std::size_t>(series.tried)];
  if (series.between > kMargin * std::max(series.before, rate)) {
    arm.wins += 1;
  } else if (series.between * kMargin < std::min(series.before, rate)) {
    arm.losses += 1;
  } else {
    arm.draws += 1;
  }
  const double evidence = arm.wins * kWin + arm.losses * kLoss;
  if (evidence >= kAccept) {
    series.settled = true;
    series.winner = series.tried;
    series.decided_at = series.files;
    series.before = 0;
    return;
  }
  arm.dropped = evidence <= kReject || arm.draws >= kMostDraws;
  series.settled = std::all_of(series.arms.begin(), series.arms.end(),
                               [](const Arm& one) { return one.dropped; });
}

// A default between two files of the winner that it beats both, twice in a row, ends it.
void SeriesTable::check_winner(Series& series, double rate) {
  if (series.running == kDefault) {
    series.between = rate;
    return;
  }
  if (series.between > 0 && series.before > 0) {
    const bool against = series.between > kMargin * std::max(series.before, rate);
    series.against_in_a_row = against ? series.against_in_a_row + 1 : 0;
    if (series.against_in_a_row >= kEnoughAgainst) series.winner = kDefault;
  }
  series.between = 0;
  series.before = rate;
}

}  // namespace iotune::patterndb
