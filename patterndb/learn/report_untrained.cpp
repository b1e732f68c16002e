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
            ", wp.dataset, wp.datasets, wp.repeats, o.run, o.trace, o.program_path, o.file_path, "
            "o.bytes_written, o.bytes_read, o.seconds, o.observed_at, o.platform, "
            "coalesce((SELECT t.state FROM patterns q JOIN tunings t ON t.pattern = q.id "
            " WHERE q.byte_key = p.byte_key AND t.platform = o.platform "
            " ORDER BY t.made_at DESC, t.id DESC LIMIT 1), 'untrained') AS answer "
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
            "AND answer IN ('untrained', 'reverted') "
            "ORDER BY o.observed_at DESC, p.id");
    rows.bind(1, canonical_filesystem(filter.filesystem)).bind(2, filter.mpi).bind(3, filter.hdf5);
    rows.bind(4, filter.host_class);
    constexpr int kPlatform = kPatternWidth, kWorkload = kPlatform + 4, kUse = kWorkload + 4;
    std::set<std::pair<std::string, std::int64_t>> seen;
    Json list = Json::array();
    while (rows.step()) {
      if (!seen.insert({rows.text(1), rows.integer(kUse + 11)}).second) continue;
      Json entry = {{"pattern", pattern_json(rows, 0)},
                    {"platform", platform_row(rows, kPlatform)},
                    {"workload", workload_row(rows, kWorkload)},
                    {"dataset", rows.text(kUse)},
                    {"datasets", rows.integer(kUse + 1)},
                    {"repeats", rows.integer(kUse + 2)},
                    {"run", rows.text(kUse + 3)},
                    {"trace", rows.text(kUse + 4)},
                    {"program", rows.text(kUse + 5)},
                    {"file", rows.text(kUse + 6)},
                    {"bytes_written", rows.integer(kUse + 7)},
                    {"bytes_read", rows.integer(kUse + 8)},
                    {"seconds", rows.real(kUse + 9)},
                    {"observed_at", rows.real(kUse + 10)},
                    {"state", rows.text(kUse + 12)}};
      list.push_back(std::move(entry));
    }
    return dump({{"database", path()}, {"untrained", std::move(list)}});
  });
}

}  // namespace iotune::patterndb
