// What the trainer has to do.
#include <set>

#include "patterndb/learn/report.h"
#include "patterndb/store/pattern_db.h"
#include "patterndb/store/places.h"

namespace iotune::patterndb {

Result<std::string> PatternDb::untrained(const PlatformFilter& filter) noexcept {
  return guarded<std::string>([&] {
    // A pattern that a later run of the same workload no longer shows needs no answer.
    sqlite::Statement rows(
        *connection_,
        std::string("SELECT ") + kPatternColumns + ", " + kPlatformColumns + ", " +
            kWorkloadColumns +
            ", wp.dataset, wp.datasets, wp.repeats, o.run, o.trace, o.program_path AS program, "
            "o.file_path AS file, o.bytes_written, o.bytes_read, o.seconds, o.observed_at, "
            "coalesce((SELECT t.state FROM patterns q JOIN tunings t ON t.pattern = q.id "
            " WHERE q.byte_key = p.byte_key AND t.platform = o.platform "
            " ORDER BY t.made_at DESC, t.id DESC LIMIT 1), 'untrained') AS state, o.platform "
            "FROM observations o "
            "JOIN workload_patterns wp ON wp.workload = o.workload AND wp.speaker = 1 "
            " AND o.observed_at <= wp.last_seen "
            "JOIN patterns p ON p.id = wp.pattern JOIN platforms f ON f.id = o.platform "
            "JOIN workloads w ON w.id = o.workload "
            "WHERE ?1 IN ('', f.filesystem) AND ?2 IN ('', f.mpi) AND ?3 IN ('', f.hdf5) "
            "AND ?4 IN ('', f.host_class) "
            "AND NOT EXISTS (SELECT 1 FROM workload_patterns n JOIN patterns np "
            " ON np.id = n.pattern WHERE n.workload = wp.workload AND n.speaker = 1 "
            " AND np.op = p.op AND n.last_seen > wp.last_seen) "
            "AND state IN ('untrained', 'reverted') "
            "ORDER BY o.observed_at DESC, p.id");
    rows.with(canonical_filesystem(filter.filesystem), filter.mpi, filter.hdf5, filter.host_class);
    constexpr int kPlatform = kPatternWidth, kWorkload = kPlatform + kPlatformWidth,
                  kUse = kWorkload + kWorkloadWidth;
    const int last = rows.columns() - 1;
    std::set<std::pair<std::string, std::int64_t>> seen;
    Json list = Json::array();
    while (rows.step()) {
      if (!seen.insert({rows.text(1), rows.integer(last)}).second) continue;
      Json entry = {{"pattern", members(rows, 0, kPlatform)},
                    {"platform", members(rows, kPlatform, kWorkload)},
                    {"workload", members(rows, kWorkload, kUse)}};
      entry.update(members(rows, kUse, last));
      list.push_back(std::move(entry));
    }
    return dump({{"database", path()}, {"untrained", std::move(list)}});
  });
}

}  // namespace iotune::patterndb
