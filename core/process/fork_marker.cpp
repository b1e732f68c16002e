#include "core/process/fork_marker.h"

#include <sys/mman.h>

#include <atomic>

#include "core/os/mapped_file.h"
#include "core/os/raw_syscall.h"
#include "core/process/jump_safe_guard.h"
#include "core/process/privilege_drop.h"

namespace iotune {
namespace {

// All zero in a copy: there the lock is free, no matter who held it in the parent.
struct Mark {
  std::atomic<bool> stands;
  SleepLock lock;
};
constexpr std::size_t kPageBytes = 4096;  // what the kernel maps is at least that
constinit std::atomic<Mark*> g_mark{nullptr};

long advise(void* memory, std::size_t bytes) noexcept {
  constexpr long kWipeOnFork = 18;  // MADV_WIPEONFORK, Linux 4.14
  return raw::call(SYS_madvise, raw::word(memory), raw::word(bytes), kWipeOnFork);
}

}  // namespace

void wipe_on_fork(void* memory, std::size_t bytes) noexcept {
  advise(memory, bytes);
}

void mark_memory() noexcept {
  if (has_dropped_privileges() || g_mark.load(std::memory_order_acquire) != nullptr) return;
  void* const page = private_memory(kPageBytes);
  if (page == nullptr) return;
  auto* const mark = static_cast<Mark*>(page);
  mark->stands.store(true, std::memory_order_relaxed);
  Mark* none = nullptr;
  if (advise(page, kPageBytes) != 0 ||
      !g_mark.compare_exchange_strong(none, mark, std::memory_order_acq_rel)) {
    unmap(page, kPageBytes);
  }
}

bool adopt_copied_memory(void (*adopt)()) noexcept {
  Mark* const mark = g_mark.load(std::memory_order_acquire);
  if (mark == nullptr || mark->stands.load(std::memory_order_acquire)) return false;
  const SignalSafeGuard guard(mark->lock, Waiting::kNotInHandler);
  if (!guard.held()) return false;
  if (!mark->stands.load(std::memory_order_acquire)) {
    adopt();
    mark->stands.store(true, std::memory_order_release);
  }
  return true;
}

bool is_copied_memory() noexcept {
  const Mark* const mark = g_mark.load(std::memory_order_acquire);
  return mark != nullptr && !mark->stands.load(std::memory_order_acquire);
}

void mark_memory_after_fork() noexcept {
  Mark* const mark = g_mark.load(std::memory_order_acquire);
  if (mark != nullptr) mark->stands.store(true, std::memory_order_release);
}

}  // namespace iotune
