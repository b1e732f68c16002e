#include "logstore/compact/compaction.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <numeric>

#include "logstore/compact/changes.h"
#include "logstore/compact/hidden_writes.h"
#include "logstore/compact/merge_container.h"
#include "logstore/compact/new_log.h"

namespace iotune::logstore {
namespace {

constexpr std::int64_t kWorthSingles = 16;
constexpr std::int64_t kWorthIndexBytes = std::int64_t{64} << 10U;
constexpr std::int64_t kWorthLogBytes = std::int64_t{1} << 20U;
constexpr std::int64_t kMostCopiedAtClose = std::int64_t{1} << 30U;
// Beside the bytes of a new log.
constexpr std::int64_t kOtherRoom = std::int64_t{1} << 20U;

std::int64_t sum_of(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

// Why it must stay as it is: what is lost may still be found by somebody who sees all of it.
std::optional<Error> why_not(const Container& container) {
  const std::string& path = container.path();
  errno = EIO;
  if (!container.compaction().merged_damage.empty()) {
    return Error{path, std::string(kMergedName) + " " + container.compaction().merged_damage};
  }
  if (container.compaction().has_grown) {
    return Error{path, "was written to past its lock since it was compacted"};
  }
  for (const WriterReport& report : container.reports()) {
    const bool is_empty = !report.has_index && report.log_bytes == 0;
    if (!report.is_whole() && !(is_empty && report.index_bytes_lost == 0)) {
      return Error{path, report.name + " has lost bytes: see iotune log verify"};
    }
  }
  return std::nullopt;
}

class Compaction {
 public:
  Compaction(std::string path, const CompactOptions& options)
      : path_(std::move(path)), options_(options) {}

  Result<CompactReport> run() {
    const Descriptor directory(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory.get() < 0) return problem("cannot be opened");
    if (!Container::is_at(path_)) {
      errno = EINVAL;
      return Error{path_, "is no container"};
    }
    Changes changes(directory.get(), options_.before_change);
    auto wrong = options_.lock_is_held ? std::nullopt : changes.lock(path_);
    if (wrong) return *wrong;
    changes_ = &changes;
    if ((wrong = open()) || (wrong = demand_same(directory)) || (wrong = why_not(*container_)) ||
        (wrong = merge()) || (wrong = compact_index()) || (wrong = compact_logs())) {
      return *wrong;
    }
    return report_;
  }

 private:
  Error problem(const char* what) { return file_error(path_, what); }

  std::optional<Error> open() {
    auto container = Container::open(path_, {}, Container::Logs::kLookAtAll);
    if (!container) return container.error();
    container_.emplace(std::move(*container));
    return std::nullopt;
  }

  // The path may lead elsewhere by now.
  std::optional<Error> demand_same(const Descriptor& directory) {
    struct stat locked {};
    struct stat opened {};
    if (fstat(directory.get(), &locked) != 0 || fstat(container_->directory(), &opened) != 0) {
      return problem("cannot be looked at");
    }
    if (locked.st_ino == opened.st_ino && locked.st_dev == opened.st_dev) return std::nullopt;
    errno = ESTALE;
    return Error{path_, "was replaced meanwhile"};
  }

  std::optional<Error> merge() {
    auto merged = merge_container(*container_);
    if (!merged) return merged.error();
    merged_ = std::move(*merged);
    const bool promised = std::ranges::any_of(
        container_->reports(), [](const WriterReport& one) { return one.durable_bytes > 0; });
    merged_.is_synced = options_.syncs || promised;
    if (!merged_.is_synced) changes_->stop_syncing();
    const CompactionTraces& traces = container_->compaction();
    report_.index_bytes_before = static_cast<std::int64_t>(traces.merged_bytes);
    for (const auto& [writer, bytes] : traces.single_indexes) report_.index_bytes_before += bytes;
    report_.index_bytes = static_cast<std::int64_t>(traces.merged_bytes);
    for (const WriterReport& one : container_->reports()) report_.log_bytes_before += one.log_bytes;
    report_.log_bytes = report_.log_bytes_before;
    return std::nullopt;
  }

  // Under another name, and on the storage, before it takes the place of the one before.
  std::optional<Error> write_merged() {
    const std::vector<std::byte> bytes = write_merged_index(merged_);
    const auto read = read_merged_index(bytes, merged_.container_id, {});
    if (!read || !read->merged) return Error{path_, "has an index that is too large to be merged"};
    if (!changes_->remove(kNewMergedName)) return problem("cannot be changed");
    const Descriptor file = changes_->make(kNewMergedName);
    const bool done = file.get() >= 0 && changes_->write(file, bytes, 0) && changes_->sync(file);
    const bool unchanged = !done || is_unchanged();
    if (!done || !unchanged || !changes_->rename(kNewMergedName, kMergedName)) {
      const Error wrong = unchanged ? problem("cannot be compacted")
                                    : Error{path_, "was written to past its lock meanwhile"};
      const int why = errno;
      changes_->remove(kNewMergedName);
      errno = why;
      return wrong;
    }
    if (!changes_->sync_directory()) return problem("cannot be synced");
    report_.index_bytes = static_cast<std::int64_t>(bytes.size());
    return std::nullopt;
  }

  // Nobody wrote who does not know of locks, or on whose node they are not seen.
  bool is_unchanged() const {
    const auto& traces = container_->compaction();
    return std::ranges::all_of(traces.single_indexes, [&](const auto& one) {
      const std::string name = one.first + kIndexEnding;
      const std::int64_t now = size_of_file(container_->directory(), name.c_str());
      return now < 0 ? single_indexes_removed_ : now == one.second;
    });
  }

  std::optional<Error> compact_index() {
    const CompactionTraces& traces = container_->compaction();
    // What a compaction that was cut short left; the merged index that names it is still there.
    for (const std::string& name : traces.spare_files) {
      const bool stays = options_.keeps_indexes && name.ends_with(kIndexEnding);
      if (!stays && !changes_->remove(name)) return problem("cannot be cleaned up");
    }
    if (!traces.spare_files.empty() && !changes_->sync_directory()) {
      return problem("cannot be synced");
    }
    writes_index_ = !traces.single_indexes.empty() || (merged_.is_synced && !traces.is_synced);
    if (writes_index_) {
      // The merged index vouches for all of every log.
      for (const WriterReport& one : container_->reports()) {
        const bool durable = one.durable_bytes >= one.log_bytes - one.unplaced_bytes;
        if (!durable && !changes_->sync_file(one.name + kLogEnding)) {
          return problem("has a log that cannot be synced");
        }
      }
      if (auto wrong = write_merged()) return wrong;
    }
    if (!options_.keeps_indexes) {
      for (const auto& [writer, bytes] : traces.single_indexes) {
        if (!changes_->remove(writer + kIndexEnding)) return problem("cannot be cleaned up");
      }
      single_indexes_removed_ = true;
    } else {
      for (const auto& [writer, bytes] : traces.single_indexes) report_.index_bytes += bytes;
    }
    if (!changes_->sync_directory()) return problem("cannot be synced");
    return std::nullopt;
  }

  // Chooses by what is live.
  std::optional<Error> compact_logs() {
    if (options_.keeps_indexes || options_.least_live <= 0) return std::nullopt;
    const bool exact = merged_.parts.knots.empty();
    const std::vector<std::int64_t> live =
        exact ? most_live_bytes(merged_.parts) : live_bytes(container_->map());
    rewritten_.assign(live.size(), false);
    std::vector<bool> keeps(live.size(), true);
    std::int64_t bytes = 0;
    std::int64_t dead = 0;
    for (std::size_t i = 0; i < live.size(); ++i) {
      const std::int64_t log = container_->reports()[i].log_bytes;
      dead += log - live[i];
      const bool only_holes = log == 0 && has_holes(i) && options_.least_live <= 1;
      keeps[i] = only_holes || (live[i] != 0 && static_cast<double>(live[i]) >=
                                                    options_.least_live * static_cast<double>(log));
      rewritten_[i] = !keeps[i] && live[i] != 0;
      if (rewritten_[i]) bytes += live[i];
    }
    const auto kept = std::ranges::count(keeps, true);
    const bool is_one = live.size() == 1 && dead == 0;
    if (kept == std::ssize(keeps) || is_one) return std::nullopt;
    if (bytes > options_.most_copied_bytes) {
      // Logs of which nothing is needed cost no copy.
      for (std::size_t i = 0; i < live.size(); ++i) keeps[i] = keeps[i] || live[i] != 0;
      rewritten_.assign(live.size(), false);
      bytes = 0;
      if (std::ranges::count(keeps, true) == std::ssize(keeps)) return std::nullopt;
    }
    return replace_logs(keeps, bytes);
  }

  std::optional<Error> replace_logs(const std::vector<bool>& keeps, std::int64_t bytes) {
    // Where no merged index was to be written, its generation is still to be taken.
    if (writes_index_) ++merged_.generation;
    const std::vector<analyzer::Segment> holes = holes_of_others(keeps, merged_, container_->map());
    keep_writers(keeps, merged_);
    const std::string name = compacted_name(merged_.generation) + kLogEnding;
    if (bytes > 0 || !holes.empty()) {
      if (auto wrong = write_log(name, bytes, holes)) {
        const int why = errno;
        changes_->remove(name);
        errno = why;
        return wrong;
      }
    }
    auto index = without_hidden(std::move(merged_.parts));
    if (!index) return index.error();
    merged_.parts = index->parts();
    if (auto wrong = write_merged()) return wrong;
    report_.log_bytes = 0;
    for (const CoveredWriter& one : merged_.covered) report_.log_bytes += one.log_bytes;
    for (const std::string& writer : merged_.retired) {
      if (!changes_->remove(writer + kLogEnding)) return problem("cannot be cleaned up");
    }
    report_.removed_logs = std::ssize(merged_.retired);
    if (!changes_->sync_directory()) return problem("cannot be synced");
    return std::nullopt;
  }

  std::optional<Error> demand_room(std::int64_t bytes) {
    struct statvfs room {};
    if (fstatvfs(container_->directory(), &room) != 0) return problem("cannot be looked at");
    const auto free = static_cast<std::uint64_t>(room.f_bavail) * room.f_frsize;
    if (static_cast<std::uint64_t>(bytes + kOtherRoom) <= free) return std::nullopt;
    errno = ENOSPC;
    return Error{path_, "has no room: its live bytes take " + std::to_string(bytes + kOtherRoom) +
                            ", and " + std::to_string(free) + " are free"};
  }

  bool has_holes(std::size_t writer) const {
    return std::ranges::any_of(merged_.parts.segments, [&](const analyzer::Segment& segment) {
      return segment.stream == writer && segment.physical >= kLargestFile;
    });
  }

  // Of the holes and of the bytes of writers that go. All of it is later than what stays.
  std::optional<Error> write_log(const std::string& name, std::int64_t bytes,
                                 const std::vector<analyzer::Segment>& holes) {
    if (auto wrong = demand_room(bytes)) return wrong;
    std::int64_t last = 0;
    for (const auto& [stream, knots] : merged_.parts.knots) {
      for (const auto& knot : knots) last = std::max(last, knot.time);
    }
    const auto stream = static_cast<std::uint32_t>(merged_.covered.size());
    analyzer::IndexBuilder builder;
    if (auto wrong = builder.add(merged_.parts)) return wrong;
    analyzer::IndexParts hidden;
    hidden.ends = {{std::ssize(holes), 0}};
    hidden.segments = holes;
    hidden.knots[0] = {{0, last + 1}};
    if (auto wrong = builder.add(hidden, stream)) return wrong;
    builder.set_name(stream, compacted_name(merged_.generation));
    const Descriptor file = changes_->make(name);
    if (file.get() < 0) return problem("cannot be compacted");
    const WriteLog write = [&](std::span<const std::byte> part, std::int64_t offset) {
      return changes_->write(file, part, offset);
    };
    const auto copied = copy_live(*container_, rewritten_, write, builder, stream, last + 1);
    if (!copied) return Error{path_, "cannot be compacted: " + copied.error().text()};
    if (!changes_->sync(file) || !changes_->sync_directory()) {
      return problem("cannot be compacted");
    }
    auto index = builder.build();
    if (!index) return index.error();
    merged_.parts = index->parts();
    merged_.covered.push_back({0, *copied});
    report_.copied_bytes = *copied;
    return std::nullopt;
  }

  std::string path_;
  const CompactOptions& options_;
  std::optional<Container> container_;
  Changes* changes_ = nullptr;
  MergedIndex merged_;
  std::vector<bool> rewritten_;  // by writer of the map
  bool writes_index_ = false;
  bool single_indexes_removed_ = false;
  CompactReport report_;
};

}  // namespace

Result<CompactReport> compact(const std::string& path, const CompactOptions& options) {
  return Compaction(path, options).run();
}

CompactionGain compaction_gain(const Container& container) {
  CompactionGain gain;
  for (const auto& [writer, bytes] : container.compaction().single_indexes) {
    ++gain.single_indexes;
    gain.index_bytes += bytes;
  }
  for (const WriterReport& report : container.reports()) gain.log_bytes += report.log_bytes;
  const LogMap& map = container.map();
  gain.most_live_bytes = std::min(map.size(), gain.log_bytes);
  if (map.index().contested()) {
    if (const auto merged = merge_container(container)) {
      gain.most_live_bytes = std::min(gain.most_live_bytes, sum_of(most_live_bytes(merged->parts)));
    }
  } else {
    gain.most_live_bytes =
        std::min(gain.most_live_bytes, sum_of(most_live_bytes(map.index().parts())));
  }
  return gain;
}

bool compaction_is_worth_it(const CompactionGain& gain) {
  const std::int64_t dead = gain.log_bytes - gain.most_live_bytes;
  return gain.single_indexes >= kWorthSingles || gain.index_bytes >= kWorthIndexBytes ||
         (dead > gain.most_live_bytes && dead >= kWorthLogBytes);
}

namespace {

int compact_under_lock(const std::string& path, CompactOptions& options) {
  options.lock_is_held = true;
  options.syncs = false;
  errno = 0;
  if (compact(path, options)) return 0;
  return -(errno != 0 ? errno : EIO);
}

}  // namespace

// By the number of files, then by their sizes.
bool compaction_may_be_worth_it(int directory, const OwnFiles& own) noexcept {
  try {
    const auto names = list_container(directory, ReadLimits{}.writers);
    if (!names) return false;
    CompactionGain most;
    most.single_indexes =
        std::ranges::count_if(names->writers, [](const auto& one) { return one.second.index; });
    if (compaction_is_worth_it(most)) return true;
    for (const auto& [name, files] : names->writers) {
      if (name == own.writer) {
        most.index_bytes += own.index_bytes;
        most.log_bytes += own.log_bytes;
        continue;
      }
      if (files.index) most.index_bytes += size_of_file(directory, (name + kIndexEnding).c_str());
      if (files.log) most.log_bytes += size_of_file(directory, (name + kLogEnding).c_str());
    }
    return compaction_is_worth_it(most);
  } catch (...) {
    return false;
  }
}

int compact_on_close(const std::string& path) noexcept {
  try {
    {
      const auto container = Container::open(path);
      if (!container) return -(errno != 0 ? errno : EIO);
      // What is lost was said when it was read.
      if (why_not(*container) || !compaction_is_worth_it(compaction_gain(*container))) return 0;
    }
    CompactOptions options;
    options.most_copied_bytes = kMostCopiedAtClose;
    return compact_under_lock(path, options);
  } catch (...) {
    return -ENOMEM;
  }
}

int merge_indexes(const std::string& path) noexcept {
  try {
    CompactOptions options;
    options.least_live = 0;
    return compact_under_lock(path, options);
  } catch (...) {
    return -ENOMEM;
  }
}

}  // namespace iotune::logstore
