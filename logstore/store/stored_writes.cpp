// What a program changes, and the writer that it goes to.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/files/file_lock.h"
#include "logstore/format.h"
#include "logstore/read/limits.h"
#include "logstore/store/stored_file.h"

namespace iotune::logstore {
namespace {

int sync_directory(int at, const char* name) {
  const Descriptor directory(openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return directory && fsync(directory.get()) == 0 ? 0 : -errno;
}

}  // namespace

void StoredFile::lock_container() {
  if (lock_file(description_file_.get(), LOCK_SH) != 0) {
    // A file system without locks has no compaction on close either: LOCK_EX fails there, too.
  }
  is_locked_ = true;
}

void StoredFile::unlock_container() {
  flock(description_file_.get(), LOCK_UN);
  is_locked_ = false;
}

// While a file was idle somebody may have compacted it: our index is gone then, or what it tells of
// from now on would be older than it is, and our log's bytes may be elsewhere.
void StoredFile::forget_compacted_writer() {
  if (!writer_ || removed_) return;
  const bool is_compacted = merged_identity(directory_.get()) != merged_before_writer_;
  if ((!is_compacted && !writer_->is_gone()) || is_removed()) return;
  writer_.reset();
  since_writer_ = {};
  drop_view();
  survey_.reset();
}

int StoredFile::ready_writer() {
  if (writer_ && (is_locked_ || removed_)) return 0;
  if (!is_locked_) lock_container();
  forget_compacted_writer();
  if (writer_) return 0;
  // The log that the view knows as ours is another's from now on.
  own_in_base_ = analyzer::kHole;
  since_writer_ = {};
  names_are_synced_ = false;
  struct stat handle {};
  const int wrong = OwnWriter::make(directory_.get(), container_id_, next_number_, handle, writer_);
  if (wrong != 0) {
    unlock_container();
    return wrong;
  }
  if (writer_->name().empty()) removed_ = true;
  if (handle.st_ino != 0) mtime_seen_ns_ = ns_of(handle.st_mtim);
  // Who made the container knows that there was none; one that came since counts as a change.
  merged_before_writer_ = is_new_ ? MergedIdentity{} : merged_identity(directory_.get());
  is_new_ = false;
  index_bytes_looked_at_ = 0;
  flushed_ns_ = writer_->latest_ns();
  return 0;
}

void StoredFile::before_change() {
  is_dirty_ = true;
  const auto seen = std::exchange(mtime_seen_ns_, std::nullopt);
  if (mtime_is_due_ || removed_) return;
  struct stat now {};
  if (!seen && fstatat(directory_.get(), kHandleName, &now, AT_SYMLINK_NOFOLLOW) != 0) return;
  mtime_before_ns_ = seen ? *seen : ns_of(now.st_mtim);
  mtime_is_due_ = true;
  first_change_ns_ = INT64_MAX;
}

void StoredFile::after_change() noexcept {
  last_change_ns_ = writer_->latest_ns();
  first_change_ns_ = std::min(first_change_ns_, last_change_ns_);
}

void StoredFile::note_extent(std::int64_t offset, std::int64_t length, std::int64_t physical) {
  if (!base_) return;
  overlay_.put(offset, length, physical);
  // Of a removed container no index can be read again.
  if (overlay_.extents() > kMostExtents && !removed_) drop_view();
}

std::int64_t StoredFile::write_here(std::int64_t offset, const void* from, std::size_t size) {
  if (offset < 0) return -EINVAL;
  if (size == 0) return 0;
  if (const int wrong = ready_writer(); wrong != 0) return wrong;
  if (writer_->lost() != 0) return writer_->lost();
  before_change();
  std::int64_t done = 0;
  while (done < static_cast<std::int64_t>(size)) {
    const std::int64_t physical = writer_->core().log_bytes();
    const std::int64_t some =
        writer_->core().append(offset + done, static_cast<const char*>(from) + done,
                               size - static_cast<std::size_t>(done));
    if (some <= 0) {
      if (done == 0) {
        after_change();
        return some;
      }
      break;
    }
    since_writer_.write(offset + done + some);
    since_base_.write(offset + done + some);
    note_extent(offset + done, some, physical);
    done += some;
  }
  after_change();
  // What had no room is kept, and the next flush tells of it. What was refused for good is not.
  flush_where_due();
  return writer_->lost() != 0 ? writer_->lost() : done;
}

int StoredFile::flush_where_due() {
  const bool due = process_ends.load(std::memory_order_relaxed) ||
                   writer_->latest_ns() - flushed_ns_ > options_.flush_interval_ns;
  return due ? flush_writer() : 0;
}

int StoredFile::flush_writer() {
  if (!writer_ || !is_dirty_) return 0;
  const int wrong = writer_->flush();
  flushed_ns_ = writer_->latest_ns();
  set_mtime();
  if (wrong == 0) is_dirty_ = false;
  return wrong;
}

std::int64_t StoredFile::write(std::int64_t offset, const void* from, std::size_t size) noexcept {
  return guarded([&]() -> std::int64_t {
    const std::lock_guard guard(mutex_);
    return write_here(offset, from, size);
  });
}

// Appenders hold a lock on `append` from the look at the size until the write can be seen. The lock
// on `container` will not do: on NFS locks of either kind are locks of the whole file's bytes, and
// every writer has that one shared.
std::int64_t StoredFile::append(const void* from, std::size_t size, std::int64_t& offset) noexcept {
  return guarded([&]() -> std::int64_t {
    const std::lock_guard guard(mutex_);
    // A container that another process removed is no longer anybody else's to append to.
    if (!append_lock_ && !removed_) {
      constexpr int kFlags = O_NOFOLLOW | O_CLOEXEC;
      Descriptor file(openat(directory_.get(), kAppendName, O_RDWR | kFlags));
      if (!file && errno == ENOENT) {
        file = Descriptor(openat(directory_.get(), kAppendName, O_RDWR | O_CREAT | kFlags, 0666));
        // Who may come here may append.
        if (file) fchmod(file.get(), 0666);
      }
      if (!file) file = Descriptor(openat(directory_.get(), kAppendName, O_RDONLY | kFlags));
      append_lock_ = moved_high(std::move(file));
    }
    const int fd = append_lock_.get();
    if (fd >= 0) {
      if (const long wrong = lock_file(fd, LOCK_EX); wrong != 0) {
        if (!said_no_locks_) {
          say("appends of several processes may meet here: the file system has no locks");
        }
        said_no_locks_ = true;
        append_lock_ = Descriptor();
      }
    }
    must_look_ = true;
    std::int64_t done = size_here();
    if (done >= 0) {
      offset = done;
      done = write_here(offset, from, size);
      if (const int wrong = flush_writer(); wrong != 0 && done >= 0) done = wrong;
    }
    if (append_lock_) flock(fd, LOCK_UN);
    return done;
  });
}

int StoredFile::make_hole(std::int64_t offset, std::int64_t length, bool truncates) {
  if (offset < 0) return -EINVAL;
  if (offset > kLargestFile) return -EFBIG;
  if (const int wrong = ready_writer(); wrong != 0) return wrong;
  if (writer_->lost() != 0) return writer_->lost();
  before_change();
  const int wrong =
      truncates ? writer_->core().truncate(offset) : writer_->core().punch(offset, length);
  after_change();
  if (wrong != 0) return wrong;
  if (truncates) {
    since_writer_.truncate(offset);
    since_base_.truncate(offset);
    length = kLargestFile;
  }
  length = std::min(length, kLargestFile - offset);
  if (length > 0) note_extent(offset, length, Overlay::kHole);
  flush_where_due();
  return writer_->lost();
}

int StoredFile::truncate(std::int64_t size) noexcept {
  return guarded([&]() -> int {
    const std::lock_guard guard(mutex_);
    return make_hole(size, 0, true);
  });
}

int StoredFile::punch(std::int64_t offset, std::int64_t length) noexcept {
  return guarded([&]() -> int {
    const std::lock_guard guard(mutex_);
    return length > 0 ? make_hole(offset, length, false) : -EINVAL;
  });
}

int StoredFile::flush() noexcept {
  return guarded([&]() -> int {
    const std::lock_guard guard(mutex_);
    return flush_writer();
  });
}

// Who has not written here wants the writes of others on the storage (a file that is closed and
// opened again, sync(1)), unless they have seen to that themselves: hundreds of readers that sync
// between MPI's barriers find nothing to do. Who has written wants its own, an earlier writer's of
// this process included. Data before index.
int StoredFile::sync_writers_before() {
  std::vector<std::string> names;
  if (!writer_) {
    must_look_ = true;
    if (const int wrong = ready_view(); wrong != 0) return wrong;
    names = not_durable_;
  } else if (!names_are_synced_) {
    const auto listed = list_container(directory_.get(), ReadLimits{}.writers);
    if (!listed) return -errno;
    for (const auto& [name, files] : listed->writers) {
      if (name != writer_->name() && name.starts_with(OwnWriter::name_prefix())) {
        names.push_back(name);
      }
    }
  }
  for (const std::string& name : names) {
    for (const char* ending : {kLogEnding, kIndexEnding}) {
      const auto file = open_regular(directory_.get(), name + ending);
      if (!file && errno == ENOENT) continue;
      if (!file || fdatasync(file->descriptor.get()) != 0) return -errno;
    }
  }
  return 0;
}

// The names last: they are of use only to what is there.
int StoredFile::sync() noexcept {
  return guarded([&]() -> int {
    const std::lock_guard guard(mutex_);
    if (writer_) {
      if (const int wrong = writer_->sync(); wrong != 0) return wrong;
      flushed_ns_ = writer_->latest_ns();
      is_dirty_ = false;
      set_mtime();
    }
    if (removed_ || is_removed()) return 0;
    if (const int wrong = sync_writers_before(); wrong != 0) return wrong;
    if (names_are_synced_) return 0;
    if (fsync(description_file_.get()) != 0) return -errno;
    if (const int wrong = sync_directory(directory_.get(), "."); wrong != 0) return wrong;
    // A directory that may be searched and not read cannot be synced, as with an ordinary file.
    const int wrong = sync_directory(directory_.get(), "..");
    if (wrong != 0 && wrong != -EACCES) return wrong;
    names_are_synced_ = true;
    return 0;
  });
}

}  // namespace iotune::logstore
