#include "logstore/preload/logged_descriptors.h"

#include <fcntl.h>

#include <new>
#include <utility>
#include <vector>

#include "logstore/preload/real_calls.h"

namespace iotune::logstore {

constinit std::atomic<OpenDescription*> g_logged[kMostDescriptors] = {};

namespace {

constinit std::mutex g_lock;
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
  leave_descriptor(fd);  // one that was closed past this library
  try {
    const std::lock_guard held(g_lock);
    OpenDescription* const one = free_file();
    one->file = std::move(file);
    one->access = flags & O_ACCMODE;
    one->syncs = (flags & O_DSYNC) != 0;  // part of O_SYNC
    one->holders.store(1, std::memory_order_release);
    g_logged[fd].store(one, std::memory_order_release);
    int end = g_end.load(std::memory_order_relaxed);
    while (end <= fd && !g_end.compare_exchange_weak(end, fd + 1)) {
    }
  } catch (...) {
    return false;
  }
  watch_descriptors();
  return true;
}

int leave_descriptor(int fd) noexcept {
  if (!is_logged(fd)) return 0;
  OpenDescription* const file = g_logged[fd].exchange(nullptr, std::memory_order_acq_rel);
  return file == nullptr ? 0 : let_go(*file);
}

void leave_descriptors(unsigned first, unsigned last) noexcept {
  const auto end = static_cast<unsigned>(g_end.load(std::memory_order_relaxed));
  for (unsigned fd = first; fd <= last && fd < end; ++fd) leave_descriptor(static_cast<int>(fd));
}

// Calls that other threads had under way hold nothing here: the close is the last one.
void reset_logged_descriptors() noexcept {
  new (&g_lock) std::mutex;
  for (OpenDescription* const file : all_files()) {
    new (&file->position) std::mutex;
    file->holders.store(file->file == nullptr ? 0 : 1, std::memory_order_relaxed);
  }
}

}  // namespace iotune::logstore
