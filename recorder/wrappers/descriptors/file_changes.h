// What wrappers tell prefetching of descriptors and contents, for whoever keeps bytes of files: who
// may change them, from when to when. Nothing, where g_recording is not kWatched.
#pragma once

#include "core/process/thread_state.h"
#include "recorder/hooks/transfer_hooks.h"

namespace iotune::recorder {

// Around a call that may change what is at `path`; nullptr: it changes nothing.
class PathChange {
 public:
  PathChange(int directory, const char* path) noexcept
      : token_(g_recording == kWatched && path != nullptr
                   ? g_transfer_hooks.before_change(directory, path)
                   : 0) {}
  ~PathChange() {
    if (token_ != 0) g_transfer_hooks.after_change(token_);
  }
  PathChange(const PathChange&) = delete;
  PathChange& operator=(const PathChange&) = delete;

 private:
  std::uint32_t token_;
};

// Around a call that closes `fd`: fclose writes what it has meanwhile.
class Closing {
 public:
  explicit Closing(int fd) noexcept
      : token_(g_recording == kWatched ? g_transfer_hooks.before_any_close(fd) : 0) {}
  ~Closing() {
    if (token_ != 0) g_transfer_hooks.after_any_close(token_);
  }
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;

 private:
  std::uint32_t token_;
};

// Before the program knows the descriptor. A child of vfork tells nothing: what it executes finds
// its descriptors for itself.
inline void tell_opened(int fd, int flags) noexcept {
  if (g_recording == kWatched && fd >= 0 && !in_vfork_child()) g_transfer_hooks.opened(fd, flags);
}

inline void tell_synchronised(int fd) noexcept {
  if (g_recording != kWatched || t_thread.ours != 0) return;
  const OwnCode own;
  g_transfer_hooks.synchronised(fd);
}

}  // namespace iotune::recorder
