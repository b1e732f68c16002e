// Folding the spool into the database.
#include "patterndb/store/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "patterndb/decide/site_copies.h"
#include "patterndb/exchange/record_json.h"
#include "patterndb/gains/adopted.h"
#include "patterndb/learn/learning.h"
#include "patterndb/matching/workload_names.h"
#include "patterndb/store/pattern_db.h"
#include "patterndb/store/rows.h"

namespace iotune::patterndb {

namespace {

constexpr off_t kLargestSpoolFile = 64 << 20;

// Of a file that cannot be read just now, or not by this user: it may be a sound one.
struct Unread : Fault {};

std::vector<std::string> spool_files(const std::string& folder) {
  std::vector<std::string> names;
  std::unique_ptr<DIR, int (*)(DIR*)> open_folder(opendir(folder.c_str()), closedir);
  if (!open_folder) {
    if (errno == ENOENT || errno == ENOTDIR) return names;
    throw Fault{folder + ": " + error_text(errno)};
  }
  std::string_view suffix = kSpoolSuffix;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this stream
  while (const dirent* entry = readdir(open_folder.get())) {
    std::string_view name = entry->d_name;
    if (name[0] == '.' || name.size() <= suffix.size()) continue;
    if (name.substr(name.size() - suffix.size()) == suffix) names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());  // names begin with the time
  return names;
}

// A user's spool is folded in by its owner, or by a user who was asked to (root, for a site): what
// lies there of a third one is nobody's observation.
uid_t owner_of(const std::string& folder) {
  struct stat status;
  return stat(folder.c_str(), &status) == 0 ? status.st_uid : geteuid();
}

std::string contents(const std::string& path, uid_t owner) {
  struct Descriptor {
    int number;
    ~Descriptor() {
      if (number >= 0) close(number);
    }
  } file{open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)};
  struct stat status;
  if (file.number < 0 || fstat(file.number, &status) != 0) throw Unread{{error_text(errno)}};
  if (!S_ISREG(status.st_mode)) throw Unread{{"not a regular file"}};
  if (status.st_uid != geteuid() && status.st_uid != owner) {
    throw Unread{{"it belongs to another user"}};
  }
  if (status.st_size > kLargestSpoolFile) throw Fault{"larger than 64 MiB"};
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    ssize_t n = read(file.number, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Unread{{error_text(errno)}};
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  text.resize(done);
  return text;
}

// The pattern that a file's seconds are booked on: the dominant one of the direction with more
// bytes.
std::size_t leading_use(const ObservedFile& file) {
  bool write = file.bytes_written >= file.bytes_read;
  for (std::size_t i = 0; i < file.uses.size(); ++i) {
    if (file.uses[i].is_dominant && file.uses[i].pattern.write == write) return i;
  }
  for (std::size_t i = 0; i < file.uses.size(); ++i) {
    if (file.uses[i].is_dominant) return i;
  }
  return file.uses.size();
}

// How many files of a run were of one kind so far.
using KindCounts = std::vector<std::pair<Kind, std::size_t>>;

// Each of the first files has a row of its own. Those behind are added to the last one of their
// kind, which has their sums: a run may write many thousand.
bool store_row(sqlite::Connection& connection, const rows::StoredObservation& row,
               KindCounts& counts) {
  const Kind kind = rows::kind_of(row);
  auto count = std::find_if(counts.begin(), counts.end(),
                            [&](const auto& one) { return one.first == kind; });
  if (count == counts.end()) count = counts.insert(counts.end(), {kind, 0});
  if (count->second == kRowsOfARun) {
    rows::add_to_observation(connection, row);
    return true;
  }
  const bool added = rows::observation(connection, row);
  count->second += added ? 1 : 0;
  return added;
}

bool store(sqlite::Connection& connection, const Observation& observation, const ObservedFile& file,
           const std::string& workload_file, const std::string& name, std::int64_t item,
           LowerAnswers& lower, KindCounts& counts, std::vector<std::string>& moves) {
  Workload shown = file.workload;
  shown.file = workload_file;
  std::int64_t workload = rows::workload(connection, shown);
  std::vector<std::int64_t> patterns;
  for (const PatternUse& use : file.uses) {
    patterns.push_back(rows::pattern(connection, use.pattern));
    bool settled =
        !use.is_dominant || is_settled(connection,
                                       {workload, patterns.back(), byte_key(use.pattern),
                                        observation.run, use.pattern.write, file.observed_at},
                                       moves);
    rows::use(connection, {workload, patterns.back(), use.dataset, use.datasets, use.repeats,
                           use.is_dominant, file.observed_at, settled});
  }
  std::size_t leading = leading_use(file);
  bool has_pattern = leading < file.uses.size();
  std::string source = file.decision_source;
  std::int64_t row = file.decision_row;
  std::int64_t copy =
      has_pattern ? lower.copy_of(connection, file, file.uses[leading].pattern) : -1;
  if (has_pattern && copy < 0) copy = adopted(connection, file, file.uses[leading].pattern);
  if (copy >= 0) {
    // Nobody drew whether it got them. It has been given, so that the next run is drawn.
    source = "held";
    row = copy;
  }
  return store_row(
      connection,
      {name, item, observation.run, observation.trace, observation.program, file.path, workload,
       rows::platform(connection, file.platform), has_pattern ? patterns[leading] : 0,
       rows::settings(connection, file.settings.text()), source, row, file.bytes_written,
       file.bytes_read, file.seconds, file.elapsed_seconds, file.observed_at},
      counts);
}

// Returns the number of new rows. Inside the caller's transaction.
std::size_t store(sqlite::Connection& connection, const Observation& observation,
                  const std::string& name, LowerAnswers& lower, std::vector<std::string>& moves) {
  sqlite::Statement counted(connection, "SELECT 1 FROM observations WHERE spool_file=? LIMIT 1");
  if (counted.bind(1, name).step()) return 0;
  const std::vector<std::string> workloads = workload_files(connection, observation);
  std::size_t added = 0;
  KindCounts counts;
  for (std::size_t i = 0; i < observation.files.size(); ++i) {
    added += store(connection, observation, observation.files[i], workloads[i], name,
                   static_cast<std::int64_t>(i), lower, counts, moves);
  }
  learn_from_run(connection, name, moves);
  return added;
}

Observation read_spool_file(const std::string& path, uid_t owner) {
  Json json = parse_json(contents(path, owner), "JSON");
  return read_observation(Node(json, ""));
}

bool vanished(const std::string& path) {
  struct stat status;
  return lstat(path.c_str(), &status) != 0 && errno == ENOENT;
}

void set_aside(const std::string& path, const std::string& why, IngestReport& report) {
  std::string bad = path + ".bad";
  std::string fate = rename(path.c_str(), bad.c_str()) == 0 ? "now " + bad : "left there";
  report.faults.push_back(path + ": " + why + "; " + fate);
}

}  // namespace

bool has_spool_files(const std::string& folder) noexcept {
  Result<bool> found = guarded<bool>([&] { return !spool_files(folder).empty(); });
  return found && *found;
}

Result<IngestReport> PatternDb::ingest_spool(const std::string& folder,
                                             std::size_t most_files) noexcept {
  return guarded<IngestReport>([&] {
    IngestReport report;
    const uid_t owner = owner_of(folder);
    std::vector<std::pair<std::string, Observation>> observations;
    for (const std::string& name : spool_files(folder)) {
      if (observations.size() == most_files) {
        ++report.left;
        continue;
      }
      std::string path = folder + "/" + name;
      // Two processes may fold one spool: what the other took is no fault.
      try {
        observations.emplace_back(name, read_spool_file(path, owner));
      } catch (const Unread& fault) {
        if (!vanished(path)) report.faults.push_back(path + ": " + fault.message + "; left there");
      } catch (const NewerFormat& fault) {
        report.faults.push_back(path + ": " + fault.message + "; left there for a newer one");
      } catch (const Fault& fault) {
        if (!vanished(path)) set_aside(path, fault.message, report);
      }
    }
    if (observations.empty()) return report;
    LowerAnswers lower(options_.lower, path());
    change([&](sqlite::Connection& connection) {
      for (const auto& [name, observation] : observations) {
        report.observations += store(connection, observation, name, lower, report.moves);
      }
    });
    for (const auto& [name, observation] : observations) {
      report.files += unlink((folder + "/" + name).c_str()) == 0;
    }
    return report;
  });
}

Result<bool> PatternDb::add_observation(const Observation& observation,
                                        const std::string& name) noexcept {
  return guarded<bool>([&] {
    std::vector<std::string> moves;
    bool added = false;
    LowerAnswers lower(options_.lower, path());
    change([&](sqlite::Connection& connection) {
      added = store(connection, observation, name, lower, moves) > 0;
    });
    return added;
  });
}

}  // namespace iotune::patterndb
