// Tunes a series of files within one run (plt00000.h5, plt00001.h5 …) without a database, by
// trials. The names must count up. The first two files are the baseline; then the default and a
// candidate take turns until a sequential test decides. Files of different sizes are not compared.
// Where a number of the names tells kinds of files apart, each kind is a series of its own.
// Candidates change nothing on disk. Lives in the one process that decides, as long as the run.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "patterndb/decide/decide.h"
#include "patterndb/matching/telling_number.h"

namespace iotune::patterndb {

class SeriesTrials {
 public:
  // Whether settings may be tried at such an open: a candidate must be known to keep every byte
  // right.
  using Allowed = std::function<bool(const Settings&, const Question&)>;
  explicit SeriesTrials(Allowed allowed = {}) : allowed_(std::move(allowed)) {}

  // The settings for the file. Nothing for the first file of a series, for files that are read, and
  // while the file before is still open. `hopeful`: settings to be tried first, if any.
  std::optional<Decision> next(const Question& question, const Settings& hopeful = {});

  // The file was closed. `seconds`: of its I/O in the deciding process, from open to close.
  void closed(const std::string& file, double seconds, std::uint64_t bytes, bool collective);

 private:
  struct Arm {
    Settings settings;
    int wins = 0, losses = 0, draws = 0;
    bool dropped = false;
  };
  struct Series {
    std::string key, name, open_file;
    TellingNumber telling;             // once it is found: each of its values has its own series
    std::string first_folder, folder;  // of a series with a folder for each file: first and newest
    bool by_folder = false;            // no series any more: each folder has its own
    std::uint32_t ranks = 1, nodes = 1;
    std::vector<std::string> numbers;  // of the newest file's name
    int rises = 0;                     // files in a row whose numbers had grown
    int files = 0, decided_at = 0;
    int running = kDefault;  // arm of the open file
    int tried = kDefault;    // arm of the newest candidate, until the default after it has run
    int winner = kDefault;
    int last = kDefault;       // arm of the candidate that had the last turn
    int against_in_a_row = 0;  // since it won: defaults in a row that were faster than its files
    bool started = false, settled = false;
    bool asked = false;              // `allowed_` was asked about the candidates
    double before = 0, between = 0;  // bytes a second: of the last default, of the file after it
    FileKind before_kind, between_kind, newest_kind;
    bool newest_alike = false;  // the newest two files were alike
    std::vector<Arm> arms;
    Settings hopeful;
  };
  static constexpr int kDefault = -1;

  void drop_what_is_not_allowed(Series& series, const Question& question) const;
  static std::vector<Arm> arms_of(const Series& series, bool collective);
  Series* place_of(const std::string& file, const std::string& key);
  Series* make(const std::string& key);
  Series* kind_of(Series* series, const std::vector<std::string>& numbers);
  void judge(Series& series, double rate);
  void check_winner(Series& series, double rate);
  static int next_arm(const Series& series);
  static Decision decision_of(const Series& series);

  std::map<std::string, Series> series_;
  Allowed allowed_;
};

// The candidates for a run's writes, each as text of settings of patterndb/settings/parameters.h.
std::vector<std::string> trial_candidates(bool collective, std::uint32_t ranks,
                                          std::uint32_t nodes);

}  // namespace iotune::patterndb
