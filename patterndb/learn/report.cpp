// list, show, query, untrained, observations: what people and the trainer read.
#include "patterndb/learn/report.h"

#include <algorithm>
#include <map>
#include <set>

#include "patterndb/matching/workload_names.h"
#include "patterndb/store/pattern_db.h"

namespace iotune::patterndb {

namespace {

using sqlite::Connection;
using sqlite::Statement;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

// NOLINTNEXTLINE(bugprone-exception-escape): what may throw is the destructor of Json
struct Group {
  Json platform;
  std::int64_t platform_id = 0;
  std::string settings;
  std::vector<double> seconds, rates;
  std::set<std::string> runs;
  std::int64_t files = 0, older_runs = 0;  // also of the totals
  double last_at = 0;
};

// Both have the platform's id, the platform, the settings' text, a file's seconds and bytes, the
// number of files and the moment. Of observations the run follows, of totals the number of runs.
constexpr char kObservedColumns[] =
    ", s.text, o.seconds / o.files, "
    "(o.bytes_written + o.bytes_read) / o.files, o.files, o.observed_at, o.run ";
constexpr char kTotalColumns[] =
    ", s.text, o.seconds / o.files, o.bytes / o.files, o.files, o.last_at, o.runs ";

// Seconds and rates are those of the observations that are kept, but for those of some runs.
Json measured(Statement& observed, Statement& totals, const std::set<std::string>& left_out = {}) {
  std::map<std::pair<std::int64_t, std::string>, Group> groups;
  const auto group_of = [&](const Statement& row) -> Group& {
    Group& group = groups[{row.integer(0), row.text(5)}];
    group.platform_id = row.integer(0);
    group.platform = platform_row(row, 1);
    group.settings = row.text(5);
    group.files += row.integer(8);
    group.last_at = std::max(group.last_at, row.real(9));
    return group;
  };
  while (observed.step()) {
    if (left_out.contains(observed.text(10))) continue;
    Group& group = group_of(observed);
    const double seconds = observed.real(6);
    group.seconds.push_back(seconds);
    if (seconds > 0) group.rates.push_back(observed.real(7) / seconds);
    group.runs.insert(observed.text(10));
  }
  while (totals.step()) group_of(totals).older_runs += totals.integer(10);
  Json list = Json::array();
  for (const auto& [key, group] : groups) {
    if (group.seconds.empty()) continue;  // of each kind rows are kept
    Json entry = {{"platform", group.platform},
                  {"settings", settings_object(group.settings)},
                  {"settings_text", group.settings},
                  {"files", group.files},
                  {"runs", static_cast<std::int64_t>(group.runs.size()) + group.older_runs},
                  {"median_seconds", median(group.seconds)},
                  {"median_bytes_per_second", nullptr},
                  {"rates", group.rates},
                  {"gain", nullptr},  // over the default on the same platform
                  {"last_at", group.last_at}};
    if (!group.rates.empty()) {
      double rate = median(group.rates);
      entry["median_bytes_per_second"] = rate;
      auto base = groups.find({group.platform_id, ""});
      if (base != groups.end() && !base->second.rates.empty() && !group.settings.empty()) {
        double base_rate = median(base->second.rates);
        if (base_rate > 0) entry["gain"] = rate / base_rate;
      }
    }
    list.push_back(std::move(entry));
  }
  return list;
}

// Statements are kept, because a list may ask for 10^5 patterns.
class Reporter {
 public:
  explicit Reporter(Connection& connection)
      : workloads_(connection,
                   std::string("SELECT ") + kWorkloadColumns +
                       ", wp.dataset, wp.datasets, wp.repeats, wp.speaker AS 'speaker?', "
                       "wp.last_seen FROM workload_patterns wp "
                       "JOIN workloads w ON w.id = wp.workload WHERE wp.pattern = ? "
                       "ORDER BY wp.last_seen DESC"),
        tunings_(connection, std::string("SELECT ") + kTuningColumns + ", " + kPlatformColumns +
                                 ", s.text, q.descriptor, t.platform FROM patterns q "
                                 "JOIN tunings t ON t.pattern = q.id "
                                 "JOIN platforms f ON f.id = t.platform "
                                 "JOIN settings s ON s.id = t.settings WHERE q.byte_key = ? "
                                 "ORDER BY t.made_at DESC, t.id DESC"),
        observations_(connection, of_byte_key(kObservedColumns, "observations")),
        totals_(connection, of_byte_key(kTotalColumns, "totals")) {}

  Json pattern(const Statement& row) {
    Json pattern = members(row);
    pattern["workloads"] = workloads(row.integer(0));
    pattern["answers"] = tunings(row.text(1), true);
    return pattern;
  }

  Json with_evidence(const Statement& row) {
    Json entry = pattern(row);
    entry["history"] = tunings(row.text(1), false);
    entry["measured"] = measured_of(row.text(1));
    return entry;
  }

 private:
  Json workloads(std::int64_t pattern) {
    workloads_.bind(1, pattern);
    Json list = list_of(workloads_);
    workloads_.reset();
    return list;
  }

  Json tunings(const std::string& key, bool newest_only) {
    Json list = Json::array();
    std::set<std::int64_t> platforms;
    tunings_.bind(1, key);
    while (tunings_.step()) {
      if (newest_only && !platforms.insert(tunings_.integer(kTuningWidth + 6)).second) continue;
      Json entry = members(tunings_, 0, kTuningWidth);
      entry["platform"] = platform_row(tunings_, kTuningWidth);
      entry["settings"] = settings_object(tunings_.text(kTuningWidth + 4));
      entry["settings_text"] = tunings_.text(kTuningWidth + 4);
      entry["descriptor"] = tunings_.text(kTuningWidth + 5);
      list.push_back(std::move(entry));
    }
    tunings_.reset();
    return list;
  }

  Json measured_of(const std::string& key) {
    observations_.bind(1, key);
    totals_.bind(1, key);
    Json list = measured(observations_, totals_);
    observations_.reset();
    totals_.reset();
    return list;
  }

  static std::string of_byte_key(const char* columns, const char* from) {
    return std::string("SELECT f.id, ") + kPlatformColumns + columns + "FROM patterns q JOIN " +
           from +
           " o ON o.pattern = q.id JOIN platforms f ON f.id = o.platform "
           "JOIN settings s ON s.id = o.settings WHERE q.byte_key = ?";
  }

  Statement workloads_, tunings_, observations_, totals_;
};

std::string select_patterns(const char* where) {
  return std::string("SELECT ") + kPatternColumns + " FROM patterns p " + where + " ORDER BY p.id";
}

}  // namespace

Result<std::string> PatternDb::list() noexcept {
  return guarded<std::string>([&] {
    sqlite::Transaction one_state(*connection_, sqlite::Transaction::Kind::kRead);
    Reporter reporter(*connection_);
    Statement rows(*connection_, select_patterns(""));
    return dump({{"database", path()},
                 {"patterns", list_of(rows, [&] { return reporter.pattern(rows); })}});
  });
}

Result<std::string> PatternDb::show(std::int64_t pattern) noexcept {
  return guarded<std::string>([&] {
    sqlite::Transaction one_state(*connection_, sqlite::Transaction::Kind::kRead);
    Statement row(*connection_, select_patterns("WHERE p.id = ?"));
    row.bind(1, pattern);
    if (!row.step()) throw Fault{path() + ": no pattern " + std::to_string(pattern)};
    return dump(Reporter(*connection_).with_evidence(row));
  });
}

Result<std::string> PatternDb::query(std::string_view text,
                                     std::optional<std::uint64_t> element_bytes) noexcept {
  return guarded<std::string>([&] {
    std::string wanted(text), bytes;
    const char* by = "descriptor";
    const char* where = "WHERE p.descriptor = ?1";
    if (text.find("> write ") != text.npos || text.find("> read ") != text.npos) {
      by = "byte key";
      where = "WHERE p.byte_key = ?1";
    } else {
      const auto descriptor = parse_descriptor(text);
      if (!descriptor) {
        throw Fault{"'" + wanted + "' is no descriptor: " + descriptor.error().text()};
      }
      wanted = descriptor->text();
      if (descriptor->last_in_bytes || element_bytes) {
        by = "bytes";
        where = "WHERE p.byte_descriptor = ?1";
        if (element_bytes) wanted = in_bytes(*descriptor, *element_bytes).text();
      }
    }
    sqlite::Transaction one_state(*connection_, sqlite::Transaction::Kind::kRead);
    Reporter reporter(*connection_);
    Statement rows(*connection_, select_patterns(where));
    rows.bind(1, wanted);
    return dump({{"database", path()},
                 {"query", wanted},
                 {"matched_by", by},
                 {"patterns", list_of(rows, [&] { return reporter.with_evidence(rows); })}});
  });
}

Result<std::string> PatternDb::observations(std::optional<std::int64_t> pattern,
                                            const std::optional<Workload>& workload,
                                            std::optional<std::int64_t> bytes,
                                            const std::set<std::string>& left_out) noexcept {
  return guarded<std::string>([&] {
    std::string file;
    if (workload) file = stored_name(*connection_, *workload).file;
    const auto select = [&](const char* columns, const char* from, const char* moved) {
      std::string sql = std::string("SELECT f.id, ") + kPlatformColumns + columns + "FROM " + from +
                        " o JOIN platforms f ON f.id = o.platform "
                        "JOIN settings s ON s.id = o.settings "
                        "JOIN workloads w ON w.id = o.workload "
                        "LEFT JOIN patterns p ON p.id = o.pattern WHERE 1";
      if (pattern) sql += " AND p.byte_key = (SELECT byte_key FROM patterns WHERE id = ?1)";
      if (workload) sql += " AND w.program=?2 AND w.file=?3 AND w.ranks=?4 AND w.nodes=?5";
      if (bytes) sql += std::string(" AND (") + moved + ") / o.files BETWEEN ?6 * 0.9 AND ?6 * 1.1";
      return sql;
    };
    const auto bind = [&](Statement& rows) {
      if (pattern) rows.bind(1, *pattern);
      if (bytes) rows.bind(6, *bytes);
      if (!workload) return;
      rows.bind(2, workload->program).bind(3, file);
      rows.bind(4, workload->ranks).bind(5, workload->nodes);
    };
    sqlite::Transaction one_state(*connection_, sqlite::Transaction::Kind::kRead);
    Statement rows(*connection_,
                   select(kObservedColumns, "observations", "o.bytes_written + o.bytes_read"));
    Statement totals(*connection_, select(kTotalColumns, "totals", "o.bytes"));
    bind(rows);
    bind(totals);
    return dump({{"database", path()}, {"measured", measured(rows, totals, left_out)}});
  });
}

}  // namespace iotune::patterndb
