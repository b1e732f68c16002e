#include "patterndb/learn/pending_runs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "analyzer/summary/summarize.h"
#include "core/os/fnv1a.h"
#include "core/words/decision_words.h"
#include "patterndb/learn/observe.h"
#include "patterndb/store/pattern_db.h"
#include "patterndb/store/spool.h"

namespace iotune::patterndb {

namespace {

constexpr char kStateSuffix[] = ".state", kFreshSuffix[] = ".part";
constexpr char kStoringCost[] = "storing.ns";
// Until it was measured: a database on a local disk takes two writes that wait for it.
constexpr std::uint64_t kStoringNs = 5'000'000;
// A larger trace of the run that ends waits for those that are older.
constexpr off_t kSmallTrace = 256 << 10;

std::uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

// To be counted up with every change of what analyzer/summary/archive.h keeps of a class.
constexpr char kStateHead[] = "iotune analysis, 2\n";

std::string contents(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status;
  if (file.number() < 0 || fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return {};
  }
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = read(file.number(), text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return {};
    done += static_cast<std::size_t>(n);
  }
  return text;
}

// Whole or not at all. What cannot be written is not kept: the work is done again.
void replace(const std::string& path, const std::string& text) {
  const std::string fresh = path + kFreshSuffix;
  unlink(fresh.c_str());
  bool whole = false;
  {
    const Descriptor file(
        open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    std::size_t done = 0;
    while (file.number() >= 0 && done < text.size()) {
      const ssize_t n = write(file.number(), text.data() + done, text.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      done += static_cast<std::size_t>(n);
    }
    whole = file.number() >= 0 && done == text.size();
  }
  if (!whole || rename(fresh.c_str(), path.c_str()) != 0) unlink(fresh.c_str());
}

std::string without_end(const std::string& name) {
  return name.substr(0, name.rfind('.'));
}

// Everything in the folder. Names begin with the time.
std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  std::unique_ptr<DIR, int (*)(DIR*)> open_folder(opendir(folder.c_str()), closedir);
  if (!open_folder) return names;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this stream
  while (const dirent* entry = readdir(open_folder.get())) {
    if (entry->d_name[0] != '.') names.emplace(entry->d_name);
  }
  return names;
}

std::vector<std::string> pending_for(const std::set<std::string>& names, const std::string& mark) {
  const std::string ends[] = {"-" + mark + kPendingSuffix, "-" + mark + kHeldMark + kPendingSuffix};
  std::vector<std::string> pending;
  for (const std::string& name : names) {
    if (name.ends_with(ends[0]) || name.ends_with(ends[1])) pending.push_back(name);
  }
  return pending;
}

// What a death left of a run that is not pending any more, or not yet.
void remove_orphans(const std::string& folder, const std::set<std::string>& names) {
  constexpr time_t kOldSeconds = 3600;
  for (const std::string& name : names) {
    const bool beside =
        name.ends_with(kStateSuffix) || name.ends_with(kPathSuffix) || name.ends_with(kFreshSuffix);
    if (!beside || names.contains(without_end(name) + kPendingSuffix)) continue;
    struct stat status;
    const std::string path = folder + name;
    if (lstat(path.c_str(), &status) == 0 && status.st_mtime + kOldSeconds < time(nullptr)) {
      unlink(path.c_str());
    }
  }
}

std::string target_of(const std::string& link) {
  char target[4096];
  const ssize_t bytes = readlink(link.c_str(), target, sizeof target);
  return bytes <= 0 ? std::string() : std::string(target, static_cast<std::size_t>(bytes));
}

class Learner {
 public:
  explicit Learner(const LearnRequest& request)
      : request_(request),
        began_ns_(now_ns()),
        until_ns_(request.until_ns),
        folder_(request.places.folder + "/") {}

  LearnReport run() {
    const Descriptor lock(request_.places.folder.empty()
                              ? -1
                              : open(request_.places.folder.c_str(),
                                     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    const bool alone = lock.number() >= 0 && flock(lock.number(), LOCK_EX | LOCK_NB) == 0;
    if (!request_.own_trace.empty() && request_.own_name.empty()) learn(std::string());
    if (alone) {
      const std::set<std::string> names = names_in(folder_);
      remove_orphans(folder_, names);
      std::vector<std::string> pending = pending_for(names, mark());
      const auto own = std::find(pending.begin(), pending.end(), request_.own_name);
      if (until_ns_ != 0 && own != pending.end() && pending.size() > 1 && own_is_small()) {
        // The oldest first, else runs that each take all of their time would never be learnt from.
        // Half of the time: behind a very long run short ones are learnt from as well.
        pending.erase(own);
        until_ns_ = began_ns_ + (request_.until_ns - std::min(began_ns_, request_.until_ns)) / 2;
        learn_in_order(pending);
        until_ns_ = request_.until_ns;
        pending = {request_.own_name};
        began_ = left_off_ = false;
      }
      learn_in_order(pending);
      flock(lock.number(), LOCK_UN);  // not by closing alone: a child of a fork would keep it
    }
    if (has_spool_files(request_.places.spool) && has_time_to_store()) {
      store([&] {
        fold_spool(request_.places.database, request_.places.spool, request_.places.lower);
      });
    }
    return report_;
  }

 private:
  std::string mark() const { return database_mark(request_.places.database); }

  void learn_in_order(const std::vector<std::string>& pending) {
    for (const std::string& name : pending) {
      if (left_off_ || (began_ && stop())) {
        ++report_.left;
        continue;
      }
      learn(name);
    }
  }

  // A part of the time is for what follows: to write the state down, or to name the patterns.
  bool stop() const {
    if (until_ns_ == 0) return false;
    const std::uint64_t now = now_ns();
    return now + (until_ns_ - std::min(began_ns_, until_ns_)) / 4 >= until_ns_;
  }

  bool own_is_small() const {
    struct stat status;
    return stat(request_.own_trace.c_str(), &status) == 0 && status.st_size <= kSmallTrace;
  }

  // `name`: empty of the run that ends where it is not kept.
  void learn(const std::string& name) {
    began_ = true;
    const std::string trace = name.empty() ? request_.own_trace : folder_ + name;
    const std::string base = folder_ + without_end(name), state = base + kStateSuffix;
    auto summary = analyzer::ResumableSummary::open(trace);
    // A pending run that cannot be read is dropped below: it would be tried again without end.
    if (!summary && name.empty()) throw Fault{summary.error().text()};
    if (summary) {
      const std::string before = name.empty() ? std::string() : contents(state);
      if (before.starts_with(kStateHead)) {
        summary->restore(std::string_view(before).substr(sizeof kStateHead - 1));
      }
      // To name the patterns is a step of its own, which a run's end begins with rather than ends.
      const bool only_names = summary->is_whole();
      const bool whole_now = summary->go_on([this] { return stop(); });
      if (!whole_now || (!only_names && !name.empty() && stop())) {
        left_off_ = true;
        if (name.empty()) return;
        replace(state, kStateHead + summary->state());
        ++report_.left;
        return;
      }
      const analyzer::RunSummary whole = summary->finish();
      // Where the user finds the trace.
      const std::string path = name.empty() ? trace : target_of(base + kPathSuffix);
      leave(observation_of(whole, path.empty() ? trace : path), name, whole.run_id);
      ++report_.learnt;
    }
    if (name.empty()) return;
    unlink(trace.c_str());
    unlink((base + kPathSuffix).c_str());
    unlink(state.c_str());
  }

  void leave(Observation observation, const std::string& name, const std::string& run) {
    if (observation.files.empty()) return;
    const bool held = name.empty()
                          ? request_.own_held
                          : name.find(std::string(kHeldMark) + kPendingSuffix) != name.npos;
    // Nobody drew whether these got their settings: they say nothing in a test that rests on it.
    for (ObservedFile& file : observation.files) {
      const bool settings = is_of_database(source_named(file.decision_source));
      if (settings && held) file.decision_source = "held";
    }
    // One name however often a death makes it be done again.
    const std::string as = name.empty() ? spool_name(run) : spool_name_of_pending(name);
    const LearnPlaces& places = request_.places;
    if (!has_time_to_store()) {
      value_or_fault(leave_in_spool(observation, places.spool, as));
      return;
    }
    store([&] {
      value_or_fault(keep(observation, places.database, places.spool, as, places.lower));
    });
  }
  static std::string spool_name_of_pending(const std::string& name) {
    return without_end(name) + kSpoolSuffix;
  }

  bool has_time_to_store() {
    if (request_.until_ns == 0) return true;
    if (!storing_ns_) {
      storing_ns_ = kStoringNs;
      const std::string said = contents(folder_ + kStoringCost);
      std::from_chars(said.data(), said.data() + said.size(), *storing_ns_);
    }
    if (now_ns() + *storing_ns_ <= request_.until_ns) return true;
    // What was slow once may be quick by now: it is tried again after some tens of runs.
    if (*storing_ns_ > kStoringNs && !forgave_) {
      forgave_ = true;
      *storing_ns_ -= *storing_ns_ / 32;
      replace(folder_ + kStoringCost, std::to_string(*storing_ns_));
    }
    return false;
  }
  template <typename Store>
  void store(Store&& storing) {
    const std::uint64_t before = now_ns();
    storing();
    const std::uint64_t took = now_ns() - before;
    if (request_.until_ns == 0) return;
    // One slow moment is not the rule.
    const std::uint64_t next = (3 * storing_ns_.value_or(kStoringNs) + took) / 4;
    if (storing_ns_ && took < *storing_ns_ && took > *storing_ns_ / 4) return;
    storing_ns_ = next;
    replace(folder_ + kStoringCost, std::to_string(next));
  }

  const LearnRequest& request_;
  std::uint64_t began_ns_, until_ns_;  // until_ns_: 0: there is no end to the time
  std::string folder_;
  LearnReport report_;
  bool began_ = false, left_off_ = false, forgave_ = false;
  std::optional<std::uint64_t> storing_ns_;
};

}  // namespace

std::string database_mark(std::string_view database) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::uint64_t hash = Fnv1a::of(std::string(database).c_str());
  std::string mark(16, '0');
  for (std::size_t i = 16; i-- > 0; hash >>= 4U) mark[i] = kHex[hash & 15U];
  return mark;
}

Result<LearnReport> learn_from_pending_runs(const LearnRequest& request) noexcept {
  return guarded<LearnReport>([&] { return Learner(request).run(); });
}

}  // namespace iotune::patterndb
