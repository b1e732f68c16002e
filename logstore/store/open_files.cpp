#include "logstore/store/open_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <vector>

#include "core/files/file_lock.h"
#include "logstore/format.h"

namespace iotune::logstore {
namespace {

// Shared with all who have the container open. Waits while somebody makes an ordinary file of it.
// None where there are no locks: then nobody makes one.
Descriptor share_openers_lock(int directory) {
  Descriptor lock = open_openers_lock(directory, O_RDONLY);
  return lock && lock_file(lock.get(), LOCK_SH) == 0 ? std::move(lock) : Descriptor();
}

}  // namespace

OpenFiles& OpenFiles::all() {
  static auto* const files = new OpenFiles;
  return *files;
}

bool OpenFiles::key_at(const std::string& path, Key& key) {
  struct stat about {};
  if (stat((path + "/" + kDescriptionName).c_str(), &about) != 0) return false;
  key = {about.st_dev, about.st_ino};
  return true;
}

// The holders share a pointer of their own, whose end tells us that there is none any more.
std::shared_ptr<LoggedFile> OpenFiles::hold(Entry& entry, Descriptor openers_lock) {
  // What others flushed meanwhile is seen by who opens it.
  entry.file->refresh();
  if (auto held = entry.holders.lock()) return held;
  const std::shared_ptr<StoredFile> file = entry.file;
  std::shared_ptr<LoggedFile> held(file.get(), [file](LoggedFile*) { all().released(file); });
  file->become_held(std::move(openers_lock));
  entry.holders = held;
  entry.idle_since = 0;
  return held;
}

// What was removed, and nobody holds, is of use to nobody any more.
void OpenFiles::enter(std::shared_ptr<StoredFile> opened,
                      std::vector<std::shared_ptr<StoredFile>>& forgotten) {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    if (entry->second.idle_since != 0 && entry->second.file->is_removed()) {
      forgotten.push_back(std::move(entry->second.file));
      entry = entries_.erase(entry);
    } else {
      ++entry;
    }
  }
  Entry& entry = entries_[{opened->key().st_dev, opened->key().st_ino}];
  if (!entry.file) entry.file = std::move(opened);
}

int OpenFiles::open(const std::string& path, const StoreOptions& options,
                    std::shared_ptr<LoggedFile>& file) {
  // What is given up here is destroyed without the lock, which released() takes.
  file.reset();
  {
    const std::lock_guard lock(mutex_);
    Key key{};
    const auto found = key_at(path, key) ? entries_.find(key) : entries_.end();
    if (found != entries_.end()) file = found->second.holders.lock();
  }
  if (file) return file->refresh();
  FoundContainer found;
  const int wrong = find_container(path.c_str(), true, found);
  return wrong != 0 ? wrong : open(path, std::move(found), options, file);
}

int OpenFiles::open(const std::string& path, FoundContainer&& found, const StoreOptions& options,
                    std::shared_ptr<LoggedFile>& file) {
  file.reset();
  std::vector<std::shared_ptr<StoredFile>> forgotten;
  std::shared_ptr<StoredFile> opened;
  struct stat about {};
  // Without our lock, which who makes an ordinary file may need.
  Descriptor openers_lock = share_openers_lock(found.directory.get());
  if (fstat(found.description.get(), &about) != 0) return -errno;
  if (about.st_nlink == 0) return -ENOENT;
  const Key key{about.st_dev, about.st_ino};
  const std::lock_guard lock(mutex_);
  auto entry = entries_.find(key);
  if (entry == entries_.end()) {
    const int wrong = StoredFile::open(path, std::move(found), options, opened);
    if (wrong != 0) return wrong;
    enter(std::move(opened), forgotten);
    entry = entries_.find(key);
  }
  file = hold(entry->second, std::move(openers_lock));
  return 0;
}

int OpenFiles::flush_closed(const std::string& path) {
  std::shared_ptr<StoredFile> file;
  {
    const std::lock_guard lock(mutex_);
    Key key{};
    const auto found = key_at(path, key) ? entries_.find(key) : entries_.end();
    if (found != entries_.end()) file = found->second.file;
  }
  return file ? file->flush() : 0;
}

void OpenFiles::released(const std::shared_ptr<StoredFile>& file) noexcept {
  file->become_idle();
  if (const auto forgotten = too_many_idle(*file)) forgotten->leave();
}

// Puts the file among those that are idle; the one that has been so for longest has to go then.
std::shared_ptr<StoredFile> OpenFiles::too_many_idle(const StoredFile& file) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find({file.key().st_dev, file.key().st_ino});
  // Somebody has opened it again meanwhile.
  if (found == entries_.end() || !found->second.holders.expired()) return nullptr;
  found->second.idle_since = ++clock_;
  auto oldest = found;
  std::size_t idle = 0;
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->second.idle_since == 0) continue;
    ++idle;
    if (entry->second.idle_since < oldest->second.idle_since) oldest = entry;
  }
  if (file.is_removed()) {
    oldest = found;
  } else if (idle <= kMostIdle) {
    return nullptr;
  }
  std::shared_ptr<StoredFile> forgotten = std::move(oldest->second.file);
  entries_.erase(oldest);
  return forgotten;
}

void OpenFiles::before_removal(const std::string& path) {
  std::shared_ptr<StoredFile> file;
  {
    const std::lock_guard lock(mutex_);
    Key key{};
    const auto found = key_at(path, key) ? entries_.find(key) : entries_.end();
    if (found == entries_.end()) return;
    file = found->second.file;
    if (found->second.idle_since != 0) {
      entries_.erase(found);
      return;
    }
  }
  file->before_removal();
}

void OpenFiles::close_idle() {
  std::vector<std::shared_ptr<StoredFile>> forgotten;
  {
    const std::lock_guard lock(mutex_);
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      if (entry->second.idle_since != 0) {
        forgotten.push_back(std::move(entry->second.file));
        entry = entries_.erase(entry);
      } else {
        ++entry;
      }
    }
  }
  for (const auto& file : forgotten) file->leave();
}

void OpenFiles::before_fork() {
  mutex_.lock();
  for (auto& [key, entry] : entries_) entry.file->before_fork();
}

void OpenFiles::after_fork(bool is_child) {
  for (auto& [key, entry] : entries_) entry.file->after_fork(is_child);
  mutex_.unlock();
}

int OpenFiles::flush_all() {
  const std::lock_guard lock(mutex_);
  int wrong = 0;
  for (auto& [key, entry] : entries_) {
    const int flushed = entry.file->flush();
    if (wrong == 0) wrong = flushed;
  }
  return wrong;
}

void OpenFiles::refresh_all() {
  const std::lock_guard lock(mutex_);
  for (auto& [key, entry] : entries_) entry.file->refresh();
}

void OpenFiles::at_exit() {
  StoredFile::process_ends.store(true);
  // Who writes after this takes the lock again.
  const std::lock_guard lock(mutex_);
  for (auto& [key, entry] : entries_) entry.file->leave();
}

int LoggedFile::open(const std::string& path, const StoreOptions& options,
                     std::shared_ptr<LoggedFile>& file) noexcept {
  return guarded([&]() -> int { return OpenFiles::all().open(path, options, file); });
}

int LoggedFile::open(const std::string& path, FoundContainer&& found, const StoreOptions& options,
                     std::shared_ptr<LoggedFile>& file) noexcept {
  return guarded(
      [&]() -> int { return OpenFiles::all().open(path, std::move(found), options, file); });
}

void LoggedFile::before_fork() noexcept {
  OpenFiles::all().before_fork();
}

void LoggedFile::after_fork(bool is_child) noexcept {
  OpenFiles::all().after_fork(is_child);
}

int LoggedFile::flush_all() noexcept {
  return guarded([]() -> int { return OpenFiles::all().flush_all(); });
}

void LoggedFile::refresh_all() noexcept {
  guarded([]() -> int {
    OpenFiles::all().refresh_all();
    return 0;
  });
}

void LoggedFile::at_exit() noexcept {
  guarded([]() -> int {
    OpenFiles::all().at_exit();
    return 0;
  });
}

int LoggedFile::flush_closed(const std::string& path) noexcept {
  return guarded([&]() -> int { return OpenFiles::all().flush_closed(path); });
}

void LoggedFile::close_idle() noexcept {
  guarded([]() -> int {
    OpenFiles::all().close_idle();
    return 0;
  });
}

}  // namespace iotune::logstore
