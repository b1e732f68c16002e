// Which storage each descriptor's file lies on.
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "core/os/raw_syscall.h"
#include "prefetch/budget/storage_budget.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"

namespace iotune::prefetch {

constinit StorageBudget g_storage_budget;

namespace {

// The storage's number and 2; 1: it has none; 0: not asked yet.
constinit std::atomic<std::uint8_t> g_storages[recorder::kMaxDescriptors] = {};

// 0: no file on a storage. Of what the kernel knows: no file system is asked.
std::uint64_t device_of(int fd) noexcept {
#if defined(SYS_statx) && defined(STATX_TYPE)
  struct statx status {};
  constexpr long kEmptyPath = 0x1000, kDontSync = 0x4000;  // AT_EMPTY_PATH, AT_STATX_DONT_SYNC
  if (raw::call(SYS_statx, fd, raw::word(""), kEmptyPath | kDontSync, STATX_TYPE,
                raw::word(&status)) != 0 ||
      !S_ISREG(status.stx_mode)) {
    return 0;
  }
  return makedev(status.stx_dev_major, status.stx_dev_minor);
#else
  static_cast<void>(fd);
  return 0;
#endif
}

}  // namespace

unsigned storage_of(int fd) noexcept {
  if (static_cast<unsigned>(fd) >= static_cast<unsigned>(recorder::kMaxDescriptors) ||
      !g_storage_budget.is_joined()) {
    return StorageBudget::kNone;
  }
  std::atomic<std::uint8_t>& known = g_storages[fd];
  std::uint8_t number = known.load(std::memory_order_relaxed);
  if (number == 0) {
    const unsigned found = g_storage_budget.number_of(device_of(fd));
    number = static_cast<std::uint8_t>(found == StorageBudget::kNone ? 1 : found + 2);
    known.store(number, std::memory_order_relaxed);
  }
  return number == 1 ? StorageBudget::kNone : number - 2u;
}

void forget_storage_of(int fd) noexcept {
  if (static_cast<unsigned>(fd) < static_cast<unsigned>(recorder::kMaxDescriptors) &&
      g_storages[fd].load(std::memory_order_relaxed) != 0) {
    g_storages[fd].store(0, std::memory_order_relaxed);
  }
}

}  // namespace iotune::prefetch
