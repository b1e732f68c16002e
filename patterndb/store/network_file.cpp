#include "patterndb/store/network_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "patterndb/store/places.h"
#include "patterndb/store/sqlite.h"

namespace iotune::patterndb {

namespace {

constexpr time_t kDeadLockSeconds = 600;
constexpr const char* kLocal[] = {"ext4",  "xfs",     "btrfs", "tmpfs",
                                  "ramfs", "overlay", "zfs",   "f2fs"};

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }
  int close() {
    int number = number_;
    number_ = -1;
    return ::close(number);
  }

 private:
  int number_;
};

std::string unique_suffix() {
  std::uint64_t random = 0;
  if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random) {
    random = static_cast<std::uint64_t>(time(nullptr));
  }
  char text[64];
  snprintf(text, sizeof text, "%ld-%016llx", static_cast<long>(getpid()),
           static_cast<unsigned long long>(random));
  return text;
}

// link(2) fails where the name is there, on every file system; O_EXCL did not on old NFS.
class LinkLock {
 public:
  LinkLock(const std::string& path, int wait_milliseconds)
      : lock_(path + ".lock"), own_(lock_ + "-" + unique_suffix()) {
    Descriptor file(::open(own_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file.number() < 0) throw Fault{own_ + ": " + error_text(errno)};
    for (int waited = 0;; waited += kPauseMilliseconds) {
      if (taken()) return;
      break_dead_lock();
      if (waited >= wait_milliseconds) break;
      timespec pause = {0, kPauseMilliseconds * 1000000L};
      nanosleep(&pause, nullptr);
    }
    unlink(own_.c_str());
    throw sqlite::Busy{
        {path + ": the pattern database is in use by another process (" + lock_ + ")"}};
  }
  ~LinkLock() {
    // Only what is still ours: one that took longer than ten minutes has lost it.
    if (held()) unlink(lock_.c_str());
    unlink(own_.c_str());
  }
  LinkLock(const LinkLock&) = delete;
  LinkLock& operator=(const LinkLock&) = delete;

  // By the file, not by the number of its names: a FUSE mount may keep that for a second.
  bool held() const {
    struct stat lock, own;
    return stat(lock_.c_str(), &lock) == 0 && stat(own_.c_str(), &own) == 0 &&
           lock.st_ino == own.st_ino;
  }

 private:
  static constexpr int kPauseMilliseconds = 5;

  // The answer to link() may be lost on its way from the server.
  bool taken() const { return link(own_.c_str(), lock_.c_str()) == 0 || held(); }

  void break_dead_lock() const {
    struct stat lock, own, moved;
    if (stat(lock_.c_str(), &lock) != 0 || stat(own_.c_str(), &own) != 0) return;
    // Both times are the server's, within the drift of `own`'s age: it is renewed by this.
    if (utimensat(AT_FDCWD, own_.c_str(), nullptr, 0) != 0 || stat(own_.c_str(), &own) != 0) return;
    if (own.st_mtime - lock.st_mtime < kDeadLockSeconds) return;
    std::string aside = own_ + "-dead";
    if (rename(lock_.c_str(), aside.c_str()) != 0) return;
    // Another may have broken it in between, and this be its new one: it is given back.
    if (stat(aside.c_str(), &moved) == 0 && moved.st_ino != lock.st_ino) {
      if (link(aside.c_str(), lock_.c_str()) != 0) errno = 0;
    }
    unlink(aside.c_str());
  }

  std::string lock_, own_;
};

void copy_bytes(const std::string& from, const std::string& to) {
  Descriptor source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (source.number() < 0) throw Fault{from + ": " + error_text(errno)};
  Descriptor target(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (target.number() < 0) throw Fault{to + ": " + error_text(errno)};
  struct stat status;
  if (fstat(source.number(), &status) == 0) {
    // Of a file that is shared on purpose the mode is kept.
    static_cast<void>(fchmod(target.number(), status.st_mode & 0777));
  }
  std::vector<char> buffer(1 << 20);
  for (;;) {
    ssize_t n = ::read(source.number(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Fault{from + ": " + error_text(errno)};
    if (n == 0) break;
    for (ssize_t done = 0; done < n;) {
      ssize_t written =
          ::write(target.number(), buffer.data() + done, static_cast<std::size_t>(n - done));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) throw Fault{to + ": " + error_text(written < 0 ? errno : ENOSPC)};
      done += written;
    }
  }
  if (target.close() != 0) throw Fault{to + ": " + error_text(errno)};
}

void make_durable(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0 || fsync(file.number()) != 0) throw Fault{path + ": " + error_text(errno)};
}

// Copies of writers that died. The lock is held: nobody else has one.
void remove_dead_copies(const std::string& path) {
  std::size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  std::string start = base_name(path) + ".new-";
  std::unique_ptr<DIR, int (*)(DIR*)> open_folder(opendir(folder.c_str()), closedir);
  if (!open_folder) return;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this stream
  while (const dirent* entry = readdir(open_folder.get())) {
    std::string name = entry->d_name;
    if (name.compare(0, start.size(), start) == 0) unlink((folder + "/" + name).c_str());
  }
}

// `fill` makes the file that takes the place of `path`.
void replace(const std::string& path, const std::function<void(const std::string& copy)>& fill) {
  remove_dead_copies(path);
  const std::string copy = path + ".new-" + unique_suffix();
  try {
    fill(copy);
    make_durable(copy);
    if (rename(copy.c_str(), path.c_str()) != 0) throw Fault{path + ": " + error_text(errno)};
  } catch (...) {
    unlink(copy.c_str());
    unlink((copy + "-journal").c_str());
    throw;
  }
}

// By SQLite, which keeps the lock on `path` that another connection of this process has: closing a
// descriptor of our own would end it. (A connection within a write transaction cannot be copied.)
void copy_database(const std::string& path, const std::string& to, mode_t mode) {
  sqlite::Connection from(path, path, SQLITE_OPEN_READONLY);
  {
    const Descriptor target(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (target.number() < 0) throw Fault{to + ": " + error_text(errno)};
    static_cast<void>(fchmod(target.number(), mode));
  }
  sqlite::Connection copy(to, to, SQLITE_OPEN_READWRITE);
  copy.execute("PRAGMA synchronous=OFF; PRAGMA journal_mode=MEMORY;");
  sqlite3_backup* const backup = sqlite3_backup_init(copy.handle(), "main", from.handle(), "main");
  if (backup == nullptr) copy.fail(sqlite3_errcode(copy.handle()));
  const int done = sqlite3_backup_step(backup, -1);
  sqlite3_backup_finish(backup);
  if (done != SQLITE_DONE) from.fail(done);
}

}  // namespace

bool is_on_network(const std::string& path) {
  std::string name = filesystem_of(path);
  for (const char* local : kLocal) {
    if (name == local) return false;
  }
  return true;
}

bool takes_transactions(const std::string& path) {
  constexpr mode_t kOfOthers = 0077;
  struct stat status;
  return stat(path.c_str(), &status) == 0 && (status.st_mode & kOfOthers) == 0 &&
         !is_on_network(path);
}

bool is_changed_in_place(const std::string& path) {
  // SQLite stores the number of its records before it touches the database.
  constexpr std::size_t kMagicBytes = 8, kHeadBytes = 12;
  const Descriptor journal(::open((path + "-journal").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  unsigned char head[kHeadBytes];
  if (journal.number() < 0 || ::read(journal.number(), head, kHeadBytes) != kHeadBytes)
    return false;
  return (head[kMagicBytes] | head[kMagicBytes + 1] | head[kMagicBytes + 2] |
          head[kMagicBytes + 3]) != 0;
}

void change_by_copy(const std::string& path, int wait_milliseconds,
                    const std::function<void(const std::string& copy)>& change) {
  LinkLock lock(path, wait_milliseconds);
  replace(path, [&](const std::string& copy) {
    copy_bytes(path, copy);
    change(copy);
    if (!lock.held()) throw Fault{path + ": the lock was lost, nothing is changed"};
  });
}

void change_under_sqlite_lock(const std::string& path, int wait_milliseconds,
                              const std::function<void(const std::string& copy)>& change) {
  constexpr int kPauseMilliseconds = 2;
  const auto busy = [&] {
    return sqlite::Busy{{path + ": the pattern database is in use by another process"}};
  };
  for (int waited = 0;; waited += kPauseMilliseconds) {
    struct stat before {
    }, after{};
    if (stat(path.c_str(), &before) != 0) throw Fault{path + ": " + error_text(errno)};
    sqlite::Connection original(path, path, SQLITE_OPEN_READWRITE);
    try {
      // Nobody else changes the file then, be it in place or by a copy. It ends with the process.
      sqlite::Transaction lock(original, sqlite::Transaction::Kind::kWrite);
      if (stat(path.c_str(), &after) == 0 && after.st_ino == before.st_ino &&
          after.st_dev == before.st_dev) {
        replace(path, [&](const std::string& copy) {
          copy_database(path, copy, before.st_mode & 0777);
          change(copy);
        });
        return;
      }
    } catch (const sqlite::Busy&) {
      // Another one changes it now: its copy is another file.
    }
    if (waited >= wait_milliseconds) throw busy();
    timespec pause = {0, kPauseMilliseconds * 1000000L};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace iotune::patterndb
