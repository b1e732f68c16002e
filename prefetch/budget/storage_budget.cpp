#include "prefetch/budget/storage_budget.h"

#include <linux/futex.h>
#include <time.h>

#include <algorithm>

#include "core/os/raw_syscall.h"

namespace iotune::prefetch {
namespace {

constexpr unsigned kSixteenths = 16;
// Requests whose times show whether they queue, by most of them: a mean would follow the
// few that waited for a processor, and not for the storage.
constexpr std::uint32_t kBatch = 8;
// A storage may become slower for good: what it once could is forgotten after two windows.
constexpr std::uint32_t kWindowSeconds = 30;
// What took less was in memory.
constexpr std::uint64_t kQuickNs = 50'000;
constexpr std::uint32_t kNoiseUs = 300;
// Nobody wakes those who wait when a program's transfer ends, or a process dies.
constexpr timespec kMoment{0, 1'000'000};
constexpr unsigned kMomentsPerCheck = 50;

std::uint32_t seconds_now() noexcept {
  timespec now{};
  raw::call(SYS_clock_gettime, CLOCK_MONOTONIC_COARSE, raw::word(&now));
  return static_cast<std::uint32_t>(now.tv_sec);
}

unsigned size_class(std::int64_t bytes) noexcept {
  unsigned size = 0;
  while (size + 1 < kSizeClasses && bytes > std::int64_t{4096} << size) ++size;
  return size;
}

void forget_latency(SharedStorage& shared) noexcept {
  shared.budget_16.store(0, std::memory_order_relaxed);
  shared.has_queued.store(0, std::memory_order_relaxed);
  for (SizeLatency& size : shared.sizes) {
    size.count.store(0, std::memory_order_relaxed);
    size.slow.store(0, std::memory_order_relaxed);
    size.least_us.store(0, std::memory_order_relaxed);
    size.least_before_us.store(0, std::memory_order_relaxed);
  }
}

void begin_window(SharedStorage& shared) noexcept {
  const std::uint32_t now = seconds_now();
  std::uint32_t began = shared.window_s.load(std::memory_order_relaxed);
  if (now - began < kWindowSeconds || !shared.window_s.compare_exchange_strong(began, now)) return;
  for (SizeLatency& size : shared.sizes) {
    size.least_before_us.store(size.least_us.exchange(0, std::memory_order_relaxed),
                               std::memory_order_relaxed);
  }
}

// Of both windows, with the newest. Never 0.
std::uint32_t least_of(SizeLatency& size, std::uint32_t newest_us) noexcept {
  std::uint32_t least = size.least_us.load(std::memory_order_relaxed);
  if (least == 0 || newest_us < least) {
    size.least_us.store(newest_us, std::memory_order_relaxed);
    least = newest_us;
  }
  const std::uint32_t before = size.least_before_us.load(std::memory_order_relaxed);
  return before == 0 ? least : std::min(least, before);
}

}  // namespace

bool StorageBudget::join(const char* private_folder, unsigned nodes) noexcept {
  nodes_ = std::max(nodes, 1u);
  if (table_ == nullptr) table_ = map_budget_table(private_folder);
  ProcessUse* const entry = table_ == nullptr ? nullptr : take_budget_entry(*table_);
  if (entry == nullptr) return false;
  free_dead_entries(*table_);
  for (unsigned i = 0; i < kStoragesOfProcess; ++i) {
    const std::uint64_t device = devices_[i].load(std::memory_order_relaxed);
    if (device == 0) continue;
    shared_[i].store(shared_of(device, entry), std::memory_order_release);
    entry->storages[i].device.store(device, std::memory_order_release);
  }
  entry_.store(entry, std::memory_order_release);
  return true;
}

unsigned StorageBudget::most() const noexcept {
  return std::max(kMostRequests / nodes_, kLeastRequests);
}

bool StorageBudget::is_used(std::uint64_t device, const ProcessUse* but) const noexcept {
  for (const ProcessUse& entry : table_->processes) {
    if (&entry == but || entry.owner.load(std::memory_order_acquire) == 0) continue;
    for (const StorageUse& use : entry.storages) {
      if (use.device.load(std::memory_order_relaxed) == device) return true;
    }
  }
  return false;
}

// What is known of a storage that nobody uses may be of another one: numbers of devices are used
// again.
SharedStorage* StorageBudget::shared_of(std::uint64_t device, const ProcessUse* own) noexcept {
  for (SharedStorage& shared : table_->storages) {
    if (shared.device.load(std::memory_order_acquire) != device) continue;
    if (!is_used(device, own)) forget_latency(shared);
    return &shared;
  }
  for (SharedStorage& shared : table_->storages) {
    std::uint64_t before = shared.device.load(std::memory_order_acquire);
    if (before != 0 && is_used(before, nullptr)) continue;
    if (!shared.device.compare_exchange_strong(before, device)) continue;
    forget_latency(shared);
    return &shared;
  }
  return nullptr;
}

unsigned StorageBudget::number_of(std::uint64_t device) noexcept {
  ProcessUse* const entry = entry_.load(std::memory_order_acquire);
  if (entry == nullptr || device == 0) return kNone;
  for (unsigned i = 0; i < kStoragesOfProcess; ++i) {
    std::uint64_t known = devices_[i].load(std::memory_order_acquire);
    if (known == 0 && devices_[i].compare_exchange_strong(known, device)) {
      free_dead_entries(*table_);
      shared_[i].store(shared_of(device, entry), std::memory_order_release);
      entry->storages[i].device.store(device, std::memory_order_release);
      return i;
    }
    if (known == device) return i;
  }
  return kNone;
}

bool StorageBudget::begin_transfer(unsigned storage) noexcept {
  ProcessUse* const entry = entry_.load(std::memory_order_acquire);
  if (entry == nullptr || storage >= kStoragesOfProcess) return false;
  entry->storages[storage].transfers.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void StorageBudget::end_transfer(unsigned storage) noexcept {
  ProcessUse* const entry = entry_.load(std::memory_order_acquire);
  if (entry != nullptr) entry->storages[storage].transfers.fetch_sub(1, std::memory_order_relaxed);
}

unsigned StorageBudget::budget(unsigned storage) const noexcept {
  const SharedStorage* const shared = shared_[storage].load(std::memory_order_acquire);
  const std::uint32_t now =
      shared == nullptr ? 0 : shared->budget_16.load(std::memory_order_relaxed) / kSixteenths;
  return std::clamp(now == 0 ? kFirstRequests / nodes_ : now, kLeastRequests, most());
}

bool StorageBudget::has_room(std::uint64_t device, unsigned budget) const noexcept {
  const unsigned used =
      std::min(table_->entries_used.load(std::memory_order_seq_cst), kBudgetProcesses);
  unsigned sum = 0;
  for (unsigned i = 0; i < used; ++i) {
    const ProcessUse& entry = table_->processes[i];
    if (entry.owner.load(std::memory_order_seq_cst) == 0) continue;
    for (const StorageUse& use : entry.storages) {
      if (use.device.load(std::memory_order_relaxed) != device) continue;
      sum += std::min(use.requests.load(std::memory_order_seq_cst), kMostRequests);
      sum += std::min(use.transfers.load(std::memory_order_relaxed), kMostRequests);
    }
  }
  return sum <= budget;
}

// First counted, then added up: of two that come for the last place at once, one at least sees the
// other.
bool StorageBudget::try_request(unsigned storage) noexcept {
  StorageUse& use = entry_.load(std::memory_order_acquire)->storages[storage];
  use.requests.fetch_add(1, std::memory_order_seq_cst);
  if (has_room(devices_[storage].load(std::memory_order_relaxed), budget(storage))) return true;
  use.requests.fetch_sub(1, std::memory_order_seq_cst);
  return false;
}

bool StorageBudget::wait_for_request(unsigned storage, const std::atomic<bool>& given_up) noexcept {
  SharedStorage* const shared = shared_[storage].load(std::memory_order_acquire);
  for (unsigned moments = 1;; ++moments) {
    if (given_up.load(std::memory_order_acquire)) return false;
    const std::uint32_t releases = shared == nullptr ? 0 : shared->releases.load();
    if (try_request(storage)) return true;
    if (moments % kMomentsPerCheck == 0) free_dead_entries(*table_);
    if (shared == nullptr) {
      raw::call(SYS_nanosleep, raw::word(&kMoment), 0);
      continue;
    }
    shared->sleepers.fetch_add(1, std::memory_order_seq_cst);
    raw::call(SYS_futex, raw::word(&shared->releases), FUTEX_WAIT, raw::word(releases),
              raw::word(&kMoment));
    shared->sleepers.fetch_sub(1, std::memory_order_relaxed);
  }
}

void StorageBudget::end_request(unsigned storage) noexcept {
  ProcessUse* const entry = entry_.load(std::memory_order_acquire);
  if (entry == nullptr) return;
  entry->storages[storage].requests.fetch_sub(1, std::memory_order_seq_cst);
  SharedStorage* const shared = shared_[storage].load(std::memory_order_acquire);
  if (shared == nullptr) return;
  shared->releases.fetch_add(1, std::memory_order_seq_cst);
  // One that died in its sleep costs a call each time, no more.
  if (shared->sleepers.load(std::memory_order_seq_cst) != 0) {
    raw::call(SYS_futex, raw::word(&shared->releases), FUTEX_WAKE, 1);
  }
}

void StorageBudget::learn(unsigned storage, std::int64_t bytes,
                          std::uint64_t duration_ns) noexcept {
  SharedStorage* const shared = shared_[storage].load(std::memory_order_acquire);
  if (shared == nullptr || duration_ns < kQuickNs) return;
  SizeLatency& size = shared->sizes[size_class(bytes)];
  constexpr std::uint64_t kMostUs = 100'000'000;
  const auto us =
      static_cast<std::uint32_t>(std::clamp(duration_ns / 1000, std::uint64_t{1}, kMostUs));
  const std::uint32_t least_us = least_of(size, us);
  // Beyond one and a half times the least, requests wait for each other.
  if (us > least_us + least_us / 2 + kNoiseUs) size.slow.fetch_add(1, std::memory_order_relaxed);
  if (size.count.fetch_add(1, std::memory_order_relaxed) + 1 != kBatch) return;
  size.count.store(0, std::memory_order_relaxed);
  const std::uint32_t slow = size.slow.exchange(0, std::memory_order_relaxed);
  begin_window(*shared);
  const std::uint32_t before = budget(storage) * kSixteenths;
  std::uint32_t after = before;
  if (slow > kBatch / 2) {
    after -= before / 4;
    shared->has_queued.store(1, std::memory_order_relaxed);
  } else {
    after += shared->has_queued.load(std::memory_order_relaxed) != 0 ? kSixteenths : before / 2;
  }
  shared->budget_16.store(std::clamp(after, kLeastRequests * kSixteenths, most() * kSixteenths),
                          std::memory_order_relaxed);
}

}  // namespace iotune::prefetch
