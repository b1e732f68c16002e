// What wrappers tell of descriptors and contents, for a service that keeps bytes of files: who may
// change them, from when to when. Nothing, where g_recording is not kWatched.
#pragma once

#include "core/process/jump_safe_guard.h"
#include "core/process/thread_state.h"
#include "recorder/hooks/service.h"

namespace iotune::recorder {

// What before_change or before_any_close returned, over the call.
template <auto kAfter>
class HeldToken {
 public:
  explicit HeldToken(std::uint32_t token) noexcept : token_(token) {
    if (token_ == 0) return;
    hold_over_call(
        this,
        [](std::uintptr_t held) noexcept {
          tell_services<kAfter>(static_cast<std::uint32_t>(held));
        },
        token_);
  }
  ~HeldToken() {
    if (token_ != 0 && take_back(this)) tell_services<kAfter>(token_);
  }
  HeldToken(const HeldToken&) = delete;
  HeldToken& operator=(const HeldToken&) = delete;

 private:
  const std::uint32_t token_;
};

// Around a call that may change what is at `path`; nullptr: it changes nothing.
class PathChange : HeldToken<&Service::after_change> {
 public:
  PathChange(int directory, const char* path) noexcept
      : HeldToken(g_recording == kWatched && path != nullptr
                      ? ask_services<&Service::before_change>(0U, directory, path)
                      : 0) {}
};

// Around a call that closes `fd`: fclose writes what it has meanwhile.
class Closing : HeldToken<&Service::after_any_close> {
 public:
  explicit Closing(int fd) noexcept
      : HeldToken(g_recording == kWatched ? ask_services<&Service::before_any_close>(0U, fd) : 0) {}
};

// Before the program knows the descriptor. A child of vfork tells nothing: what it executes finds
// its descriptors for itself.
inline void tell_opened(int fd, int flags) noexcept {
  if (g_recording != kWatched || fd < 0 || in_vfork_child() || is_owned(fd)) return;
  tell_services<&Service::opened>(fd, flags);
}

inline void tell_synchronised(int fd) noexcept {
  if (g_recording != kWatched || t_thread.ours != 0) return;
  const OwnCode own;
  tell_services<&Service::synchronised>(fd);
}

}  // namespace iotune::recorder
