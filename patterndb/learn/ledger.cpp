// Gains and losses of settings, over all observed runs.
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

// Files of one rate: one of a run, or all that one of the totals holds.
struct Files {
  Arm arm;
  double bytes, seconds;
  std::size_t count;
};

struct Rate {
  double rate;
  std::size_t files;
};

// Of the files. Not of an empty list.
double median(std::vector<Rate> rates) {
  std::sort(rates.begin(), rates.end(),
            [](const Rate& a, const Rate& b) { return a.rate < b.rate; });
  std::size_t files = 0;
  for (const Rate& one : rates) files += one.files;
  const auto at = [&](std::size_t place) {
    auto one = rates.begin();
    for (; place >= one->files; ++one) place -= one->files;
    return one->rate;
  };
  return files % 2 == 1 ? at(files / 2) : (at(files / 2 - 1) + at(files / 2)) / 2;
}

std::vector<Rate> rates(const std::vector<Files>& all, bool tuned) {
  std::vector<Rate> found;
  for (const Files& one : all) {
    if ((one.arm == Arm::kTuned) == tuned) found.push_back({one.bytes / one.seconds, one.count});
  }
  return found;
}

struct Sums {
  std::size_t files = 0, slower_files = 0, uncompared_files = 0, explored_files = 0;
  double saved_seconds = 0, lost_seconds = 0, explored_seconds = 0;

  void add(const std::vector<Files>& group) {
    const std::vector<Rate> at_default = rates(group, false), tuned = rates(group, true);
    const double default_rate = at_default.empty() ? 0 : median(at_default);
    const double tuned_rate = tuned.empty() ? 0 : median(tuned);
    for (const Files& one : group) {
      if (one.arm == Arm::kTuned) {
        files += one.count;
        if (at_default.empty()) {
          uncompared_files += one.count;
          continue;
        }
        double won = one.bytes / default_rate - one.seconds;
        (won > 0 ? saved_seconds : lost_seconds) += std::abs(won);
        slower_files += won < 0 ? one.count : 0;
      } else if (one.arm == Arm::kExplored) {
        explored_files += one.count;
        if (!tuned.empty()) explored_seconds += one.seconds - one.bytes / tuned_rate;
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
    // Those that are kept, and what is added up of the others.
    Statement rows(*connection_,
                   "SELECT p.byte_key, o.platform, o.workload, o.bytes, o.seconds, o.explored, "
                   "s.text, o.size, o.files, f.filesystem, f.mpi, f.hdf5, f.host_class FROM "
                   "(SELECT pattern, platform, workload, bytes_written + bytes_read AS bytes, "
                   " seconds, decision_source = 'explore' AS explored, settings, size, files "
                   " FROM observations UNION ALL "
                   " SELECT pattern, platform, workload, bytes, seconds, explored, settings, size, "
                   " files FROM totals) o JOIN patterns p ON p.id = o.pattern "
                   "JOIN settings s ON s.id = o.settings JOIN platforms f ON f.id = o.platform "
                   "WHERE o.seconds > 0 AND o.bytes > 0");
    // Runs compare where workload, pattern and platform are the same and bytes within a tenth.
    std::map<std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>, std::vector<Files>>
        groups;
    std::map<std::int64_t, Json> platforms;
    while (rows.step()) {
      const bool tuned = !rows.text(6).empty();
      platforms.try_emplace(rows.integer(1), platform_row(rows, 9));
      groups[{rows.text(0), rows.integer(1), rows.integer(2), rows.integer(7)}].push_back(
          {tuned                  ? Arm::kTuned
           : rows.integer(5) != 0 ? Arm::kExplored
                                  : Arm::kDefault,
           rows.real(3), rows.real(4), static_cast<std::size_t>(rows.integer(8))});
    }
    Sums all;
    std::map<std::int64_t, Sums> by_platform;
    for (const auto& [key, files] : groups) {
      all.add(files);
      by_platform[std::get<1>(key)].add(files);
    }
    Json entry = all.json();
    Statement moves(*connection_,
                    "SELECT coalesce(sum(state = 'reverted'), 0) AS reverts, "
                    "coalesce(sum(state = 'refused'), 0) AS refusals, "
                    "(SELECT coalesce(sum(times), 0) FROM drifts) AS drifts "
                    "FROM tunings WHERE source = 'runs'");
    moves.step();
    entry.update(members(moves));
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
