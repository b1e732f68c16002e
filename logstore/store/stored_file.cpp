// Opening, and what a file has beside its bytes: status, times, idleness, removal, fork.
#include "logstore/store/stored_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "logstore/compact/compaction.h"
#include "logstore/format.h"
#include "logstore/read/limits.h"
#include "logstore/read/make_container.h"

namespace iotune::logstore {
namespace {

constexpr std::size_t kMostLogsOfRemoved = 512;

constexpr std::int64_t kSecond = 1'000'000'000;  // ns

// Calls use(name) for all files of the container but the handle. Names are not followed by anybody
// who changes them: FORMAT.md has no links, and fchmodat(2) is the only one that follows.
template <class Use>
void each_inner_file(int directory, Use&& use) {
  use(kReadmeName);
  use(kAppendName);
  use(kDescriptionName);
  const auto names = list_container(directory, ReadLimits{}.writers);
  if (!names) return;
  for (const auto& [name, files] : names->writers) {
    if (files.log) use((name + kLogEnding).c_str());
    if (files.index) use((name + kIndexEnding).c_str());
  }
}

}  // namespace

std::atomic<bool> StoredFile::process_ends{false};

int StoredFile::open(const std::string& path, FoundContainer&& found, const StoreOptions& options,
                     std::shared_ptr<StoredFile>& to) {
  std::shared_ptr<StoredFile> file(new StoredFile(path, options));
  file->directory_ = std::move(found.directory);
  file->description_file_ = std::move(found.description);
  file->is_new_ = found.is_new;
  if (fstat(file->description_file_.get(), &file->key_) != 0) return -errno;
  Description description{};
  std::uint32_t version = 0;
  switch (read_description(found.head, description, version)) {
    case HeadProblem::kNone:
      break;
    case HeadProblem::kNotOurs:
      return -EISDIR;
    case HeadProblem::kNewer:
    case HeadProblem::kUnknownFlags:
      file->say("is a container of a newer iotune");
      return -ENOTSUP;
    case HeadProblem::kDamaged:
      file->say("is a container with a damaged description");
      return -EIO;
  }
  file->container_id_ = description.container_id;
  to = std::move(file);
  return 0;
}

void StoredFile::say(const std::string& text) const {
  if (options_.say != nullptr) options_.say((path_ + ": " + text).c_str());
}

// The container may have been renamed since it was opened.
std::string StoredFile::current_path() const {
  char path[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(directory_.get());
  const ssize_t size = readlink(link.c_str(), path, sizeof path);
  return size > 0 && path[0] == '/' ? std::string(path, static_cast<std::size_t>(size)) : path_;
}

int StoredFile::status(struct stat& to) noexcept {
  return guarded([&]() -> int {
    const std::lock_guard lock(mutex_);
    const std::int64_t bytes = size_here();
    if (bytes < 0) return static_cast<int>(bytes);
    const int directory = directory_.get();
    const bool found =
        handle_ ? fstat(handle_.get(), &to) == 0
                : fstatat(directory, kHandleName, &to, AT_SYMLINK_NOFOLLOW) == 0 ||
                      fstatat(directory, kDescriptionName, &to, AT_SYMLINK_NOFOLLOW) == 0 ||
                      fstat(description_file_.get(), &to) == 0;
    if (!found) return -errno;
    to.st_size = bytes;
    // As the next flush will set it.
    if (mtime_of(to, to.st_mtim)) to.st_ctim = to.st_mtim;
    to.st_blocks = 0;
    if (!removed_) {
      if (const int wrong = ready_survey(); wrong != 0) return wrong;
    }
    if (survey_) to.st_blocks = survey_->blocks();
    for (const int fd : {writer_ ? writer_->log() : -1, writer_ ? writer_->index() : -1}) {
      struct stat own {};
      if (fd >= 0 && fstat(fd, &own) == 0) to.st_blocks += own.st_blocks;
    }
    return 0;
  });
}

// The first write since the handle's time was set remembers that time. Another one at the flush was
// set meanwhile: by a program, which means it if it is older than that write, or by other writers,
// of which the latest counts.
bool StoredFile::mtime_of(const struct stat& handle, timespec& mtime) const {
  const std::int64_t found = ns_of(handle.st_mtim);
  if (!mtime_is_due_ || (found != mtime_before_ns_ && found < first_change_ns_)) return false;
  if (found != mtime_before_ns_ && found >= last_change_ns_) return false;
  mtime = {last_change_ns_ / kSecond, last_change_ns_ % kSecond};
  return true;
}

void StoredFile::set_mtime() {
  if (!mtime_is_due_ || removed_) return;
  struct stat now {};
  timespec times[2] = {{0, UTIME_OMIT}, {0, 0}};
  const bool wanted = fstatat(directory_.get(), kHandleName, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
                      mtime_of(now, times[1]);
  mtime_is_due_ = false;
  if (!wanted) return;
  if (utimensat(directory_.get(), kHandleName, times, AT_SYMLINK_NOFOLLOW) == 0) return;
  // Who may write to the file and does not own it may set both to now, and nothing else.
  if (utimensat(directory_.get(), kHandleName, nullptr, 0) != 0) {
    // Then the file keeps its time.
  }
}

int StoredFile::set_times(const struct timespec times[2]) noexcept {
  return guarded([&]() -> int {
    const std::lock_guard lock(mutex_);
    const bool has_handle =
        removed_ || faccessat(directory_.get(), kHandleName, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    const char* const name = has_handle ? kHandleName : kDescriptionName;
    if (utimensat(directory_.get(), name, times, AT_SYMLINK_NOFOLLOW) != 0) {
      return removed_ ? 0 : -errno;
    }
    if (times == nullptr || times[1].tv_nsec != UTIME_OMIT) mtime_is_due_ = false;
    return 0;
  });
}

int StoredFile::set_mode(mode_t mode) noexcept {
  return guarded([&]() -> int {
    const std::lock_guard lock(mutex_);
    const int at = directory_.get();
    if (fchmodat(at, kHandleName, mode & 07777, 0) != 0 &&
        (errno != ENOENT || fchmodat(at, kDescriptionName, mode & 07777, 0) != 0)) {
      return removed_ ? 0 : -errno;
    }
    if (fchmod(at, directory_mode(mode)) != 0) return -errno;
    // Logs of others are theirs to open.
    each_inner_file(at, [&](const char* name) { fchmodat(at, name, inner_file_mode(mode), 0); });
    return 0;
  });
}

int StoredFile::set_owner(uid_t owner, gid_t group) noexcept {
  return guarded([&]() -> int {
    const std::lock_guard lock(mutex_);
    const int at = directory_.get();
    const auto change = [&](const char* name) {
      return fchownat(at, name, owner, group, AT_SYMLINK_NOFOLLOW);
    };
    if (change(kHandleName) != 0 && errno != ENOENT) return -errno;
    if (fchown(at, owner, group) != 0) return removed_ ? 0 : -errno;
    each_inner_file(at, change);
    return 0;
  });
}

bool StoredFile::is_removed() const noexcept {
  struct stat about {};
  return fstat(description_file_.get(), &about) != 0 || about.st_nlink == 0;
}

void StoredFile::become_held(Descriptor openers_lock) noexcept {
  const std::lock_guard lock(mutex_);
  ++holders_;
  openers_lock_ = std::move(openers_lock);
}

// By closing alone: a child of a fork that has no lock of its own yet keeps this one.
void StoredFile::unlock_openers() noexcept {
  openers_lock_ = Descriptor();
}

void StoredFile::become_idle() noexcept {
  guarded([&]() -> int {
    const std::lock_guard lock(mutex_);
    const int wrong = flush_writer();
    if (wrong != 0) say("what was written last could not be entered in its index");
    logs_.clear();
    windows_.clear();
    append_lock_ = Descriptor();
    // Of use to who opens it again, but not at any price.
    const bool is_large =
        base_ && (base_->memory_bytes() > kMostIdleBytes || overlay_.extents() > kMostIdleExtents);
    if (is_large && !is_removed()) drop_view();
    if (wrong == 0) leave_to_compaction(false);
    // Another thread may have opened it again meanwhile.
    if (--holders_ == 0) unlock_openers();
    return wrong;
  });
}

void StoredFile::leave() noexcept {
  guarded([&]() -> int {
    const std::lock_guard lock(mutex_);
    const int wrong = flush_writer();
    if (wrong == 0) leave_to_compaction(true);
    return wrong;
  });
}

// Whether a compaction is worth it costs a look at all indexes: not each time that a program closes
// a file which it opens again and again.
void StoredFile::leave_to_compaction(bool ends) {
  if (!writer_ || removed_) return;
  if (is_locked_) unlock_container();
  const std::int64_t index_bytes = writer_->core().index_bytes();
  const bool is_due = index_bytes != index_bytes_looked_at_ &&
                      (ends || index_bytes_looked_at_ == 0 ||
                       index_bytes - index_bytes_looked_at_ >= kIndexBytesToLookAgain);
  const int fd = description_file_.get();
  if (options_.at_close != AtClose::kCompact || !is_due || flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return;
  }
  index_bytes_looked_at_ = index_bytes;
  const OwnFiles own{writer_->name(), index_bytes, writer_->core().log_bytes()};
  const int failed =
      compaction_may_be_worth_it(directory_.get(), own) ? compact_on_close(current_path()) : 0;
  if (failed != 0 && failed != -ENOENT) {
    say(std::string("was not compacted: ") + std::strerror(-failed));
  }
  flock(fd, LOCK_UN);
}

void StoredFile::before_removal() noexcept {
  guarded([&]() -> int {
    const std::lock_guard lock(mutex_);
    if (removed_) return 0;
    must_look_ = true;
    indexes_were_merged_ = true;  // nobody will read them any more
    if (ready_view() == 0 && base_) {
      logs_.hold(kMostLogsOfRemoved);
      for (std::uint32_t i = 0; i < base_->writers(); ++i) {
        if (i == own_in_base_ || base_->log_bytes(i) == 0) continue;
        const auto opened = logs_.open(directory_.get(), base_->writer_name(i) + kLogEnding);
        if (!opened) say(opened.error().text());
      }
    }
    if (const int wrong = ready_writer(); wrong != 0) return wrong;
    handle_ = moved_high(
        Descriptor(openat(directory_.get(), kHandleName, O_PATH | O_NOFOLLOW | O_CLOEXEC)));
    removed_ = true;
    mtime_seen_ns_.reset();
    return 0;
  });
}

void StoredFile::before_fork() noexcept {
  mutex_.lock();
  guarded([&]() -> int { return flush_writer(); });
}

void StoredFile::after_fork(bool is_child) noexcept {
  if (is_child) {
    // The parent's writer, and its locks: they belong to what both processes have open.
    writer_.reset();
    is_locked_ = is_dirty_ = mtime_is_due_ = names_are_synced_ = is_new_ = false;
    since_writer_ = {};
    next_number_ = 0;
    windows_.clear();  // our writer will have the number of the parent's
    drop_view();
    survey_.reset();
    append_lock_ = Descriptor();
    guarded([&]() -> int {
      if (openers_lock_) {
        Descriptor own = open_openers_lock(directory_.get(), O_RDONLY);
        if (own && flock(own.get(), LOCK_SH | LOCK_NB) == 0) openers_lock_ = std::move(own);
      }
      // Where it was removed the old one stays, and with it the inode.
      if (Descriptor own = open_description(directory_.get())) description_file_ = std::move(own);
      return 0;
    });
  }
  mutex_.unlock();
}

}  // namespace iotune::logstore
