#include "logstore/preload/logged_descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/os/raw_syscall.h"
#include "logstore/preload/host.h"
#include "logstore/preload/prefixes.h"
#include "logstore/preload/real_calls.h"
#include "logstore/preload/standard_descriptors.h"
#include "logstore/preload/store_options.h"

namespace iotune::logstore {

constinit std::atomic<OpenDescription*> g_logged[kMostDescriptors] = {};

namespace {

constinit ResettableMutex g_lock;
// Highest descriptor that was ever logged, and 1 more.
constinit std::atomic<int> g_end{0};

std::vector<OpenDescription*>& all_files() {
  static auto* const all = new std::vector<OpenDescription*>;
  return *all;
}

OpenDescription* free_file() {
  for (OpenDescription* const file : all_files()) {
    if (file->holders.load(std::memory_order_acquire) == 0) return file;
  }
  all_files().push_back(new OpenDescription);
  return all_files().back();
}

void set(int fd, OpenDescription* file) noexcept {
  g_logged[fd].store(file, std::memory_order_release);
  if (file == nullptr) return;
  int end = g_end.load(std::memory_order_relaxed);
  while (end <= fd && !g_end.compare_exchange_weak(end, fd + 1)) {
  }
}

// In `holders`: the last one is letting the file go, nobody joins.
constexpr unsigned kClosing = 1U << 31;

// The last holder lets the file go. What could not be flushed then is said by the file itself.
int let_go(OpenDescription& file) noexcept {
  unsigned holders = file.holders.load(std::memory_order_acquire);
  while (!file.holders.compare_exchange_weak(holders, holders == 1 ? kClosing : holders - 1)) {
  }
  if (holders != 1) return 0;
  const std::shared_ptr<LoggedFile> last = std::move(file.file);
  file.file = nullptr;
  const int flushed = last == nullptr ? 0 : last->flush();
  file.holders.store(0, std::memory_order_release);
  return flushed;
}

}  // namespace

bool OpenDescription::reads() const noexcept {
  return access != O_WRONLY;
}
bool OpenDescription::writes() const noexcept {
  return access != O_RDONLY;
}

Held::Held(int fd) noexcept {
  if (static_cast<unsigned>(fd) >= static_cast<unsigned>(kMostDescriptors)) return;
  while (true) {
    OpenDescription* const file = g_logged[fd].load(std::memory_order_acquire);
    if (file == nullptr) return;
    unsigned holders = file->holders.load(std::memory_order_acquire);
    while (holders != 0 && holders != kClosing &&
           !file->holders.compare_exchange_weak(holders, holders + 1)) {
    }
    if (holders == 0 || holders == kClosing) continue;  // closed meanwhile
    if (g_logged[fd].load(std::memory_order_acquire) == file) {
      file_ = file;
      return;
    }
    let_go(*file);
  }
}

Held::~Held() {
  if (file_ != nullptr) let_go(*file_);
}

bool enter_descriptor(int fd, std::shared_ptr<LoggedFile> file, int flags) noexcept {
  if (fd < 0 || fd >= kMostDescriptors) return false;
  try {
    const ResettableMutex::Guard held(g_lock);
    OpenDescription* const one = free_file();
    one->file = std::move(file);
    one->access = flags & O_ACCMODE;
    one->syncs = (flags & O_DSYNC) != 0;  // part of O_SYNC
    one->appends.store((flags & O_APPEND) != 0, std::memory_order_relaxed);
    one->holders.store(1, std::memory_order_release);
    set(fd, one);
  } catch (...) {
    return false;
  }
  watch_descriptors();
  return true;
}

void copy_descriptor(int fd, int to) noexcept {
  const Held file(fd);
  if (!file || to < 0 || to >= kMostDescriptors) return;
  file->holders.fetch_add(1, std::memory_order_acq_rel);
  set(to, &*file);
}

int leave_descriptor(int fd) noexcept {
  if (!is_logged(fd)) return 0;
  OpenDescription* const file = g_logged[fd].exchange(nullptr, std::memory_order_acq_rel);
  return file == nullptr ? 0 : let_go(*file);
}

int leave_descriptors(unsigned first, unsigned last) noexcept {
  int wrong = 0;
  const auto end = static_cast<unsigned>(g_end.load(std::memory_order_relaxed));
  for (unsigned fd = first; fd <= last && fd < end; ++fd) {
    const int left = leave_descriptor(static_cast<int>(fd));
    if (wrong == 0) wrong = left;
  }
  return wrong;
}

namespace {
void replace_stdin(int fd) noexcept {
  int copy = -1;
  {
    const Held file(fd);
    if (fd != 0 || !file || file->writes()) return;
    copy = copy_for_stdin(fd, *file);
  }
  if (copy < 0) return;
  leave_descriptor(fd);
  raw::call(SYS_dup3, copy, fd, 0);
  close(copy);
}
}  // namespace

void enter_inherited_descriptors() noexcept {
  DIR* const open = opendir("/proc/self/fd");
  if (open == nullptr) return;
  static constexpr char kEnd[] = "/handle";
  while (const dirent* const entry = readdir(open)) {
    const int fd = std::atoi(entry->d_name);
    if (entry->d_name[0] == '.' || fd == dirfd(open)) continue;
    char path[PATH_MAX];
    const ssize_t size = readlinkat(dirfd(open), entry->d_name, path, sizeof path - 1);
    constexpr auto kEndSize = static_cast<ssize_t>(sizeof kEnd - 1);
    if (size <= kEndSize) continue;
    path[size] = '\0';
    if (std::strcmp(path + size - kEndSize, kEnd) != 0) continue;
    path[size - kEndSize] = '\0';
    std::shared_ptr<LoggedFile> file;
    if (!is_below_prefix(path) || LoggedFile::open(path, store_options(), file) != 0) continue;
    enter_descriptor(fd, std::move(file), fcntl(fd, F_GETFL));
    replace_stdin(fd);
    if (fd != 1 && fd != 2) continue;
    // A child of vfork, or posix_spawn, could not do that before its exec.
    const Held output(fd);
    if (output && output->writes()) prepare_for_output(fd, *output);
  }
  closedir(open);
}

void reset_logged_descriptors() noexcept {
  g_lock.reset();
  for (OpenDescription* const file : all_files()) file->position.reset();
  // Calls that other threads had under way hold nothing here: the last close is the last one.
  const int end = g_end.load(std::memory_order_relaxed);
  for (const bool counts : {false, true}) {
    for (int fd = 0; fd < end; ++fd) {
      OpenDescription* const file = g_logged[fd].load(std::memory_order_relaxed);
      if (file == nullptr) continue;
      file->holders.store(counts ? file->holders.load(std::memory_order_relaxed) + 1 : 0,
                          std::memory_order_relaxed);
    }
  }
}

}  // namespace iotune::logstore
