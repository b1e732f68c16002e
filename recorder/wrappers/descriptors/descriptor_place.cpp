#include "recorder/wrappers/descriptors/descriptor_place.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "core/link/at_start.h"
#include "core/os/raw_syscall.h"
#include "core/process/privilege_drop.h"

namespace iotune::recorder {

constinit std::atomic<std::uint32_t> g_descriptor_traits[kNearDescriptors] = {};
constinit std::atomic<std::uint32_t> g_copies{1};
constinit std::atomic<std::uint64_t> PositionWatch::g_turns[kTurns] = {};

namespace {

// 0 where it cannot be asked.
bool appends_now(int fd) noexcept {
  const long flags = raw::call(SYS_fcntl, fd, F_GETFL);
  return flags >= 0 && (flags & O_APPEND) != 0;
}

// Only where the file grew by exactly what the call moved was nobody else's write between.
std::int64_t between(std::int64_t size_before, std::int64_t size_after, ssize_t moved) noexcept {
  return size_before >= 0 && size_before + moved == size_after ? size_before : kUnknownPlace;
}

}  // namespace

void set_traits(int fd, bool appends, bool inherited) noexcept {
  const bool is_near = static_cast<unsigned>(fd) < static_cast<unsigned>(kNearDescriptors);
  if (!is_near && far_descriptor(fd, true) == nullptr) return;
  const std::uint32_t opened_at = inherited ? 0 : g_copies.load(std::memory_order_relaxed);
  traits_word(fd).store(opened_at << 1 | (appends ? kAppends : 0), std::memory_order_relaxed);
}

void copy_traits(int fd, int newfd) noexcept {
  if (file_of_descriptor(fd) == 0 || file_of_descriptor(newfd) == 0) return;
  traits_word(newfd).store(traits_of_descriptor(fd), std::memory_order_relaxed);
}

void set_appends(int fd, bool appends) noexcept {
  const std::uint32_t file = file_of_descriptor(fd);
  if (file == 0 || ((traits_of_descriptor(fd) & kAppends) != 0) == appends) return;
  for (int other = 0; other < end_of_descriptors(); ++other) {
    if (file_of_descriptor(other) != file) continue;
    if (appends) {
      traits_word(other).fetch_or(kAppends, std::memory_order_relaxed);
    } else {
      traits_word(other).fetch_and(~kAppends, std::memory_order_relaxed);
    }
  }
}

std::int64_t known_size(int fd) noexcept {
  struct statx found {};
  constexpr long kHow = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
  if (has_dropped_privileges() ||
      raw::call(SYS_statx, fd, raw::word(""), kHow, STATX_SIZE, raw::word(&found)) != 0) {
    return kUnknownPlace;
  }
  return static_cast<std::int64_t>(found.stx_size);
}

AppendWatch::AppendWatch(int fd, Way way) noexcept
    : fd_(fd), way_(way), size_before_(appends() ? known_size(fd) : kUnknownPlace) {}

bool AppendWatch::appends() const noexcept {
  return way_ == Way::kToTheEnd ||
         (way_ == Way::kWrites && (traits_of_descriptor(fd_) & kAppends) != 0);
}

std::int64_t AppendWatch::place(ssize_t moved, std::int64_t offset) const noexcept {
  if (moved < 0) return offset;
  if (appends()) return between(size_before_, known_size(fd_), moved);
  // Another process may have set the flag of the open file that it shares.
  if (way_ == Way::kIgnoresFlags || has_dropped_privileges() || !appends_now(fd_)) return offset;
  set_appends(fd_, true);
  return kUnknownPlace;
}

void PositionWatch::end_turn(std::uintptr_t turns) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): kept as a word (jump_safe_guard.h)
  reinterpret_cast<std::atomic<std::uint64_t>*>(turns)->fetch_sub(1, std::memory_order_acq_rel);
}

void PositionWatch::look_before() noexcept {
  looked_ = true;
  if (has_dropped_privileges()) return;
  if (way_ == Way::kWrites && !appends_ && may_be_shared(traits_of_descriptor(fd_))) {
    appends_ = appends_now(fd_);
  }
  if (appends_) {
    size_before_ = known_size(fd_);
  } else {
    position_before_ = raw::lseek(fd_, 0, SEEK_CUR);
  }
}

bool PositionWatch::place(ssize_t moved, std::int64_t& offset) const noexcept {
  const std::int64_t bytes = moved > 0 ? moved : 0;
  if (has_dropped_privileges()) {
    offset = kUnknownPlace;
    return true;
  }
  const long after = raw::lseek(fd_, 0, SEEK_CUR);
  constexpr long kIsPipe = -29;  // ESPIPE
  if (after == kIsPipe) return false;
  offset = after < 0 ? kUnknownPlace : after - bytes;
  const bool stayed_alone =
      alone_ && turns_->load(std::memory_order_acquire) == entries_ * kEntry + 1;
  if (stayed_alone && !looked_) return true;
  // A thread that moves the same position may have done so before it was asked for. Two threads
  // that began at once leave it unknown; else the position before and the one after must agree.
  if (appends_) {
    offset = between(size_before_, known_size(fd_), bytes);
  } else if (!looked_ || position_before_ != offset) {
    offset = kUnknownPlace;
  }
  return true;
}

}  // namespace iotune::recorder
