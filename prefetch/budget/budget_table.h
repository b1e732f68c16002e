// What the processes of a user have under way on this node, storage by storage: a small file in
// shared memory, beside the buffers. Nobody locks it. Each process writes its own entry alone, and
// who asks adds up; the entry of a process that is gone counts no more and is taken by the next
// one, however that process ended.
#pragma once

#include <atomic>
#include <cstdint>

namespace iotune::prefetch {

inline constexpr unsigned kBudgetProcesses = 256;
inline constexpr unsigned kBudgetStorages = 16;
inline constexpr unsigned kStoragesOfProcess = 4;
inline constexpr unsigned kSizeClasses = 7;  // of requests: 4 KiB, 8 KiB, … 128 KiB, larger

// Of one process on one storage.
struct StorageUse {
  std::atomic<std::uint64_t> device;     // st_dev; 0: none
  std::atomic<std::uint32_t> requests;   // ahead of the program, under way
  std::atomic<std::uint32_t> transfers;  // of the program, that it waits for
};

struct alignas(128) ProcessUse {
  // Thread id << 32 | the lower half of its start time in clock ticks: the thread that makes the
  // requests, which an exec ends. 0: free.
  std::atomic<std::uint64_t> owner;
  StorageUse storages[kStoragesOfProcess];
};

// How long requests of one size take, over all processes.
struct SizeLatency {
  std::atomic<std::uint32_t> count, slow;                // of the batch under way
  std::atomic<std::uint32_t> least_us, least_before_us;  // in two windows; 0: none
};

struct alignas(128) SharedStorage {
  std::atomic<std::uint64_t> device;      // 0: free
  std::atomic<std::uint32_t> budget_16;   // requests under way at once, in 16ths; 0: not set yet
  std::atomic<std::uint32_t> releases;    // futex: changes with every request that has ended
  std::atomic<std::uint32_t> sleepers;    // a hint: processes that wait for that
  std::atomic<std::uint32_t> window_s;    // when the window of least_us began, CLOCK_MONOTONIC
  std::atomic<std::uint32_t> has_queued;  // requests did once: the budget grows slowly from then on
  SizeLatency sizes[kSizeClasses];
};

static_assert(sizeof(ProcessUse) == 128 && sizeof(SharedStorage) == 256);

// All zero is a good beginning.
struct BudgetTable {
  std::atomic<std::uint32_t> entries_used;  // of `processes`, from the first on
  SharedStorage storages[kBudgetStorages];
  ProcessUse processes[kBudgetProcesses];
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// The user's table in a folder that nobody else can write to (nullptr: there is none), made where
// it is missing. nullptr where it cannot be had, or may be someone else's.
BudgetTable* map_budget_table(const char* private_folder) noexcept;

// An entry of the calling thread's, all zero but for its owner. nullptr where there is no room.
ProcessUse* take_budget_entry(BudgetTable& table) noexcept;

// Frees the entries of processes that are gone. Reads /proc: some 10 us a process.
void free_dead_entries(BudgetTable& table) noexcept;

}  // namespace iotune::prefetch
