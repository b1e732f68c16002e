#include "patterndb/decide/series_trials.h"

#include <algorithm>
#include <cmath>

#include "patterndb/settings/parameters.h"
#include "patterndb/store/places.h"

namespace iotune::patterndb {

namespace {

constexpr std::size_t kMostSeries = 64;
// A file beats its neighbours only by more than this: less is not worth a change.
constexpr double kMargin = 1.03;
// Wald's sequential test on wins and losses: 0.5 against 0.9. Where nothing is to be gained it
// errs in 5 % of all series, shared by up to three candidates; where something is, in 10 %.
const double kWin = std::log(0.9 / 0.5), kLoss = std::log(0.1 / 0.5);
constexpr std::size_t kMostArms = 3;
const double kAccept = std::log(0.9 / (0.05 / kMostArms));
const double kReject = std::log(0.1 / (1 - 0.05 / kMostArms));
constexpr int kMostDraws = 6;
// After the decision one file in so many is opened with the default, to notice when it is better.
constexpr int kCheckEvery = 8;
constexpr int kEnoughAgainst = 2;
// Nothing is tried before the third file in a row whose numbers count up: a program that writes two
// files, or one file again and again, cannot win back what a bad candidate costs.
constexpr int kFewestRises = 2;

struct Numbered {
  std::string key;                   // the path with its runs of digits as #
  std::vector<std::string> numbers;  // these, without leading zeros
};

// Numbers of folders count too: some programs make a folder for each time step
// (T.100/fields_100.h5).
Numbered numbered(const std::string& file) {
  Numbered found;
  bool in_digits = false;
  for (const char c : file) {
    const bool digit = c >= '0' && c <= '9';
    if (digit && !in_digits) {
      found.numbers.emplace_back();
      found.key += '#';
    }
    if (digit && (c != '0' || !found.numbers.back().empty())) found.numbers.back() += c;
    if (!digit) found.key += c;
    in_digits = digit;
  }
  return found;
}

std::string folder_of(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  return slash == std::string::npos ? std::string() : file.substr(0, slash + 1);
}

bool counts_up(const std::vector<std::string>& before, const std::vector<std::string>& now) {
  for (std::size_t i = 0; i < std::min(before.size(), now.size()); ++i) {
    if (before[i].size() != now[i].size()) return before[i].size() < now[i].size();
    if (before[i] != now[i]) return before[i] < now[i];
  }
  return false;
}

}  // namespace

std::vector<std::string> trial_candidates(bool collective, std::uint32_t ranks,
                                          std::uint32_t nodes) {
  if (ranks < 2) return {};
  // Without the sieve buffer ROMIO needs a hint whether to use collective buffering
  // (tuner/mpiio/hint_gates.cpp).
  if (!collective) return {"romio_cb_write=enable;romio_ds_write=disable"};
  std::vector<std::string> candidates{"romio_cb_write=disable"};
  // cb_nodes is the sum over all nodes. One aggregator a node is ROMIO's default, no candidate.
  const std::uint64_t aggregators = std::min(std::uint64_t{2} * nodes, std::uint64_t{ranks});
  if (aggregators > nodes) {
    candidates.push_back("cb_config_list=*:2;cb_nodes=" + std::to_string(aggregators));
  }
  candidates.emplace_back("dxpl_mpio_collective_opt=individual");
  return candidates;
}

// The turns: the default, a candidate, the default, the next candidate.
int SeriesTrials::next_arm(const Series& series) {
  if (series.settled) {
    if (series.winner == kDefault) return kDefault;
    return (series.files - series.decided_at) % kCheckEvery == 0 ? kDefault : series.winner;
  }
  if (!series.started || !series.newest_alike || series.rises < kFewestRises) return kDefault;
  if (series.tried != kDefault || series.before <= 0) return kDefault;
  const int count = static_cast<int>(series.arms.size());
  for (int step = 1; step <= count; ++step) {
    const int arm = (series.last + step + count) % count;
    if (!series.arms[static_cast<std::size_t>(arm)].dropped) return arm;
  }
  return kDefault;
}

std::optional<Decision> SeriesTrials::next(const Question& question, const Settings& hopeful) {
  if (!question.creating || question.layer != "hdf5" || question.ranks < 2) return std::nullopt;
  auto [key, numbers] = numbered(question.file);
  // A name without a number is no series.
  Series* const place = numbers.empty() ? nullptr : kind_of(place_of(question.file, key), numbers);
  if (place == nullptr) return std::nullopt;
  Series& series = *place;
  if (series.files == 0) {
    series.name = masked_name(question.file);
    series.ranks = question.ranks;
    series.nodes = std::max(question.nodes, 1u);
  }
  if (series.ranks != question.ranks || !series.open_file.empty()) {
    // Two open files cannot be timed apart, and a file that never closed has no rate.
    series.open_file.clear();
    series.running = series.tried = kDefault;
    series.before = series.between = 0;
    series.newest_alike = false;
    series.ranks = question.ranks;
    return std::nullopt;
  }
  series.open_file = question.file;
  series.rises = counts_up(series.numbers, numbers) ? series.rises + 1 : 0;
  series.numbers = std::move(numbers);
  series.files += 1;
  if (!hopeful.empty()) series.hopeful = hopeful;
  drop_what_is_not_allowed(series, question);
  series.running = next_arm(series);
  if (!series.started) return std::nullopt;
  return decision_of(series);
}

// Asked once, and late: the answer may take long, and most series are too short for trials.
void SeriesTrials::drop_what_is_not_allowed(Series& series, const Question& question) const {
  if (!allowed_ || !series.started || series.asked || series.rises < kFewestRises) return;
  series.asked = true;
  std::erase_if(series.arms, [&](const Arm& arm) { return !allowed_(arm.settings, question); });
  series.settled = series.arms.empty();
}

// As long as each file has a folder of its own: the series of the path with all its numbers masked.
// Once a folder has two files: the series of that folder, with the numbers of the file name masked.
SeriesTrials::Series* SeriesTrials::place_of(const std::string& file, const std::string& key) {
  const std::string folder = folder_of(file), own_key = folder + masked_name(file);
  const auto own = series_.find(own_key);
  if (own != series_.end()) return &own->second;
  const auto all = series_.find(key);
  if (all == series_.end()) {
    Series* const made = make(key);
    if (made != nullptr) made->first_folder = made->folder = folder;
    return made;
  }
  Series& common = all->second;
  if (common.by_folder) return make(own_key);
  if (folder != common.first_folder && folder != common.folder) {
    common.folder = folder;
    return &common;
  }
  // The second file of the first folder continues that series; any other folder begins its own.
  Series begun = common.files == 1 ? std::move(common) : Series();
  common = {};
  common.by_folder = true;
  Series* const made = make(own_key);
  if (made != nullptr) {
    *made = std::move(begun);
    made->key = own_key;
  }
  return made;
}

// The series of the file's kind, where a number of the names tells kinds apart.
SeriesTrials::Series* SeriesTrials::kind_of(Series* series,
                                            const std::vector<std::string>& numbers) {
  while (series != nullptr && series->telling.position()) {
    const std::size_t position = *series->telling.position();
    if (position >= numbers.size()) return nullptr;
    const std::string key = series->key + '\n' + std::to_string(position) + '=' + numbers[position];
    const auto found = series_.find(key);
    series = found == series_.end() ? make(key) : &found->second;
  }
  return series;
}

// nullptr where there is no room. An entry whose numbers never counted up is replaced: a program
// may make many files that are no series.
SeriesTrials::Series* SeriesTrials::make(const std::string& key) {
  if (series_.size() >= kMostSeries) {
    const auto idle = std::find_if(series_.begin(), series_.end(), [](const auto& one) {
      return one.second.rises == 0 && one.second.open_file.empty() && !one.second.by_folder &&
             !one.second.telling.position();
    });
    if (idle == series_.end()) return nullptr;
    series_.erase(idle);
  }
  Series& made = series_[key];
  made.key = key;
  return &made;
}

// What a model expects most of first.
std::vector<SeriesTrials::Arm> SeriesTrials::arms_of(const Series& series, bool collective) {
  std::vector<Arm> arms;
  if (!series.hopeful.empty()) arms.push_back({series.hopeful});
  for (const std::string& text : trial_candidates(collective, series.ranks, series.nodes)) {
    Result<Settings> settings = Settings::parse(text);
    if (!settings || arms.size() == kMostArms) continue;
    if (settings->text() != series.hopeful.text()) arms.push_back({*settings});
  }
  return arms;
}

Decision SeriesTrials::decision_of(const Series& series) {
  Decision decision;
  decision.source = IOTUNE_SOURCE_SERIES;
  // The message leaves out the file's number where nothing is tried: then thousands of files have
  // the same message, which the trace holds once.
  const bool decided = series.settled && series.running == series.winner;
  decision.message = (decided ? "" : "file " + std::to_string(series.files) + " of ") +
                     series.name + " in this run: ";
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
    decision.message += series.arms.empty()
                            ? "no candidate is known to be right here, the default stays"
                            : "no candidate was faster, the default stays";
  } else {
    const bool early = series.rises < kFewestRises;
    decision.message += series.running != kDefault ? "tries "
                        : early ? "no series of names that count up yet, the default"
                                : "the default's turn";
  }
  decision.message += score;
  return decision;
}

void SeriesTrials::closed(const std::string& file, double seconds, std::uint64_t bytes,
                          bool collective) {
  const auto found = std::find_if(series_.begin(), series_.end(),
                                  [&](const auto& one) { return one.second.open_file == file; });
  if (found == series_.end()) return;
  Series& series = found->second;
  series.open_file.clear();
  if (seconds <= 0 || bytes == 0) return;
  const double rate = static_cast<double>(bytes) / seconds;
  const FileKind kind{bytes, collective};
  series.newest_alike = series.started && is_alike(kind, series.newest_kind);
  series.newest_kind = kind;
  series.telling.closed(series.numbers, kind);
  if (!series.started) {
    series.started = true;
    series.arms = arms_of(series, collective);
    series.settled = series.arms.empty();
  }
  if (series.settled) {
    if (series.winner != kDefault && series.newest_alike) check_winner(series, rate);
    return;
  }
  if (series.running != kDefault) {
    series.tried = series.last = series.running;
    series.between = rate;
    series.between_kind = kind;
    return;
  }
  const bool comparable =
      is_alike(series.before_kind, series.between_kind) && is_alike(series.between_kind, kind);
  if (series.tried != kDefault && comparable) judge(series, rate);
  series.tried = kDefault;
  series.before = rate;
  series.before_kind = kind;
}

// Compares a candidate with the defaults right before and right after it.
void SeriesTrials::judge(Series& series, double rate) {
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

// The winner is given up where the default beats the winner's files on both sides, twice in a row.
void SeriesTrials::check_winner(Series& series, double rate) {
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
