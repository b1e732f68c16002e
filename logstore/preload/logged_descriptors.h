// Which descriptors of this process stand for logged files. A descriptor is one of the container's
// handle (FORMAT.md): its position and advisory locks are the kernel's.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "logstore/store/logged_file.h"

namespace iotune::logstore {

// One open(2) of a logged file. Its memory is never given back, only used again: threads may look
// at it while another one closes.
struct OpenDescription {
  std::shared_ptr<LoggedFile> file;
  int access = 0;       // O_RDONLY, O_WRONLY or O_RDWR
  bool syncs = false;   // O_SYNC or O_DSYNC
  std::mutex position;  // of who moves it
  // The descriptor, and calls under way. 0: free.
  std::atomic<unsigned> holders{0};

  bool reads() const noexcept;
  bool writes() const noexcept;
};

// Descriptors from here on are never logged: open() fails with EMFILE.
inline constexpr int kMostDescriptors = 65536;
extern std::atomic<OpenDescription*> g_logged[kMostDescriptors];

inline bool is_logged(int fd) noexcept {
  return static_cast<unsigned>(fd) < static_cast<unsigned>(kMostDescriptors) &&
         g_logged[fd].load(std::memory_order_relaxed) != nullptr;
}

// An open file for the time of one call; none where the descriptor is no logged file's (any more).
class Held {
 public:
  explicit Held(int fd) noexcept;
  ~Held();
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  explicit operator bool() const noexcept { return file_ != nullptr; }
  OpenDescription* operator->() const noexcept { return file_; }
  OpenDescription& operator*() const noexcept { return *file_; }

 private:
  OpenDescription* file_ = nullptr;
};

// `fd` is a handle of `file` from now on; flags as of open(2). False: there is no memory.
bool enter_descriptor(int fd, std::shared_ptr<LoggedFile> file, int flags) noexcept;
// The descriptor is about to be closed; its file is flushed: 0 or -errno.
int leave_descriptor(int fd) noexcept;
void leave_descriptors(unsigned first, unsigned last) noexcept;
// After fork, in the child.
void reset_logged_descriptors() noexcept;

}  // namespace iotune::logstore
