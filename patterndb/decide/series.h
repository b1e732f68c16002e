// A series of files within one run (plt00000.h5, plt00001.h5 …) is tuned without a database: the
// first two are the baseline, later ones are the default's and a candidate's by turns, until a
// sequential test decides; names must count up. Files of different sizes are not compared, and
// those that a number of their name tells apart are series of their own. Candidates have no effect
// on disk. Lives in the one process that decides, as long as the run.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "patterndb/decide/decide.h"
#include "patterndb/matching/telling_number.h"

namespace iotune::patterndb {

class SeriesTable {
 public:
  // Whether settings may be tried at such an open: only what is known to be right is a candidate.
  using Allowed = std::function<bool(const Settings&, const Question&)>;
  explicit SeriesTable(Allowed allowed = {}) : allowed_(std::move(allowed)) {}

  // What the file is to be opened with. Nothing for the first of its kind, for files that are
  // read, and while the one before is still open.
  std::optional<Decision> next(const Question& question);

  // The file was closed: what its I/O took on the deciding process, from open to close.
  void closed(const std::string& file, double seconds, std::uint64_t bytes, bool collective);

 private:
  struct Arm {
    Settings settings;
    int wins = 0, losses = 0, draws = 0;
    bool dropped = false;
  };
  struct Series {
    std::string key, name, open_file;
    TellingNumber telling;             // then each of its values has a series, and this one none
    std::string first_folder, folder;  // of a series with a folder a file: the first, the newest
    bool by_folder = false;            // no series: each folder has one of its own
    std::uint32_t ranks = 1, nodes = 1;
    std::vector<std::string> numbers;  // of the newest file's name
    int rises = 0;                     // files in a row whose numbers were larger than before
    int files = 0, decided_at = 0;
    int running = kDefault;  // arm of the open file
    int tried = kDefault;    // arm that waits for the default behind it
    int winner = kDefault;
    int last = kDefault;       // candidate whose turn was last
    int against_in_a_row = 0;  // since it won: defaults that were faster than its files around them
    bool started = false, settled = false;
    bool asked = false;              // which candidates are allowed
    double before = 0, between = 0;  // bytes a second of the last default, of the file after it
    FileKind before_kind, between_kind, newest_kind;
    bool steady = false;  // the newest two files were alike
    std::vector<Arm> arms;
  };
  static constexpr int kDefault = -1;

  void drop_what_is_not_allowed(Series& series, const Question& question) const;
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

// For a run's writes; the settings of each are those of patterndb/settings/parameters.h.
std::vector<std::string> series_candidates(bool collective, std::uint32_t ranks,
                                           std::uint32_t nodes);

}  // namespace iotune::patterndb
