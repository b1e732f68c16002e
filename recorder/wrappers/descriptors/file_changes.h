// What wrappers tell prefetching of descriptors and contents, for code that keeps bytes of files:
// who may change them, from when to when. Nothing, where g_recording is not kWatched.
#pragma once

#include "core/process/jump_safe_guard.h"
#include "core/process/thread_state.h"
#include "recorder/hooks/transfer_hooks.h"

namespace iotune::recorder {

// What before_change or before_any_close returned, over the call.
template <void (*TransferHooks::*after)(std::uint32_t)>
class HeldToken {
 public:
  explicit HeldToken(std::uint32_t token) noexcept : token_(token) {
    if (token_ == 0) return;
    hold_over_call(
        this,
        [](std::uintptr_t held) noexcept {
          (g_transfer_hooks.*after)(static_cast<std::uint32_t>(held));
        },
        token_);
  }
  ~HeldToken() {
    if (token_ != 0 && take_back(this)) (g_transfer_hooks.*after)(token_);
  }
  HeldToken(const HeldToken&) = delete;
  HeldToken& operator=(const HeldToken&) = delete;

 private:
  const std::uint32_t token_;
};

// Around a call that may change what is at `path`; nullptr: it changes nothing.
class PathChange : HeldToken<&TransferHooks::after_change> {
 public:
  PathChange(int directory, const char* path) noexcept
      : HeldToken(g_recording == kWatched && path != nullptr
                      ? g_transfer_hooks.before_change(directory, path)
                      : 0) {}
};

// Around a call that closes `fd`: fclose writes what it has meanwhile.
class Closing : HeldToken<&TransferHooks::after_any_close> {
 public:
  explicit Closing(int fd) noexcept
      : HeldToken(g_recording == kWatched ? g_transfer_hooks.before_any_close(fd) : 0) {}
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
