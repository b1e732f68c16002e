// What settings brought and cost, over all observed runs.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "patterndb/learn/report.h"
#include "patterndb/store/pattern_db.h"

namespace iotune::patterndb {

namespace {

using sqlite::Statement;

enum class Arm { kDefault, kTuned, kExplored };

struct Run {
  Arm arm;
  double bytes, seconds;
  std::int64_t row;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

std::vector<double> rates(const std::vector<Run>& runs, bool tuned) {
  std::vector<double> found;
  for (const Run& run : runs) {
    if ((run.arm == Arm::kTuned) == tuned) found.push_back(run.bytes / run.seconds);
  }
  return found;
}

struct Sums {
  std::size_t files = 0, slower_files = 0, uncompared_files = 0, explored_files = 0;
  double saved_seconds = 0, lost_seconds = 0, explored_seconds = 0;

  void add(const std::vector<Run>& runs) {
    std::vector<double> at_default = rates(runs, false), tuned = rates(runs, true);
    for (const Run& run : runs) {
      if (run.arm == Arm::kTuned) {
        ++files;
        if (at_default.empty()) {
          ++uncompared_files;
          continue;
        }
        double won = run.bytes / median(at_default) - run.seconds;
        (won > 0 ? saved_seconds : lost_seconds) += std::abs(won);
        slower_files += won < 0;
      } else if (run.arm == Arm::kExplored) {
        ++explored_files;
        if (!tuned.empty()) explored_seconds += run.seconds - run.bytes / median(tuned);
      }
    }
  }

  Json json() const {
    return {{"files", files},
            {"hours_saved", (saved_seconds - lost_seconds) / 3600},
            {"hours_saved_by_faster", saved_seconds / 3600},
            {"hours_lost_by_slower", lost_seconds / 3600},
            {"slower_files", slower_files},
            {"uncompared_files", uncompared_files},
            {"files_left_at_default", explored_files},
            {"hours_spent_on_comparing", explored_seconds / 3600}};
  }
};

}  // namespace

Result<std::string> PatternDb::ledger() noexcept {
  return guarded<std::string>([&] {
    sqlite::Transaction one_state(*connection_, sqlite::Transaction::Kind::kRead);
    Statement rows(*connection_,
                   "SELECT p.byte_key, o.platform, o.workload, o.bytes_written + o.bytes_read, "
                   "o.seconds, o.decision_source, s.text, o.decision_row, f.filesystem, f.mpi, "
                   "f.hdf5, f.host_class FROM observations o JOIN patterns p ON p.id = o.pattern "
                   "JOIN settings s ON s.id = o.settings JOIN platforms f ON f.id = o.platform "
                   "WHERE o.seconds > 0 AND o.bytes_written + o.bytes_read > 0");
    // Runs compare where workload, pattern and platform are the same and bytes within a tenth.
    std::map<std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>, std::vector<Run>>
        groups;
    std::map<std::int64_t, Json> platforms;
    while (rows.step()) {
      std::string source = rows.text(5);
      bool tuned = !rows.text(6).empty();
      double bytes = rows.real(3);
      auto size = static_cast<std::int64_t>(std::floor(std::log(bytes) / std::log(1.1)));
      platforms.try_emplace(rows.integer(1), platform_row(rows, 8));
      groups[{rows.text(0), rows.integer(1), rows.integer(2), size}].push_back(
          {tuned                 ? Arm::kTuned
           : source == "explore" ? Arm::kExplored
                                 : Arm::kDefault,
           bytes, rows.real(4), rows.integer(7)});
    }
    Sums all;
    std::map<std::int64_t, Sums> by_platform;
    for (const auto& [key, runs] : groups) {
      all.add(runs);
      by_platform[std::get<1>(key)].add(runs);
    }
    Json entry = all.json();
    Statement moves(*connection_,
                    "SELECT coalesce(sum(state = 'reverted'), 0), coalesce(sum(state = 'refused'), "
                    "0) FROM tunings WHERE source = 'runs'");
    moves.step();
    entry["reverts"] = moves.integer(0);
    entry["refusals"] = moves.integer(1);
    Statement drifted(*connection_, "SELECT count(*) FROM drifts");
    drifted.step();
    entry["drifts"] = drifted.integer(0);
    entry["database"] = path();
    entry["platforms"] = Json::array();
    for (const auto& [id, sums] : by_platform) {
      Json one = sums.json();
      one["platform"] = platforms[id];
      entry["platforms"].push_back(std::move(one));
    }
    return dump(entry);
  });
}

}  // namespace iotune::patterndb
