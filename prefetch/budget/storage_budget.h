// How many requests may be under way on a storage ahead of all programs of this user on this node,
// and whether one more may begin. Follows what the storage can take: while requests take about as
// long as they do alone, more may be under way; where they queue, fewer, and below what the
// programs themselves have under way there are none.
#pragma once

#include <atomic>
#include <cstdint>

#include "prefetch/budget/budget_table.h"

namespace iotune::prefetch {

// Of one node, and of 1/n of that for a job on n nodes.
inline constexpr unsigned kMostRequests = 32, kFirstRequests = 8, kLeastRequests = 4;

// One process's part in it. Storages are numbered from 0 on; a number holds for the process's life.
class StorageBudget {
 public:
  static constexpr unsigned kNone = kStoragesOfProcess;

  // By the thread that will make requests. False where there is no table: then all is allowed.
  bool join(const char* private_folder, unsigned nodes) noexcept;
  bool is_joined() const noexcept { return entry_.load(std::memory_order_acquire) != nullptr; }
  // In the child of a fork: its parent's part is not its own.
  void leave() noexcept { entry_.store(nullptr, std::memory_order_release); }

  // kNone where it is one too many. Any thread.
  unsigned number_of(std::uint64_t device) noexcept;

  // Around a transfer that the program waits for. False: it was not counted, and has no end.
  bool begin_transfer(unsigned storage) noexcept;
  void end_transfer(unsigned storage) noexcept;

  // True: one more request of ours is under way, until end_request.
  bool try_request(unsigned storage) noexcept;
  // As soon as one may be; false where `given_up` was set before.
  bool wait_for_request(unsigned storage, const std::atomic<bool>& given_up) noexcept;
  void end_request(unsigned storage) noexcept;
  // How long a request took; one that found its data in memory says nothing.
  void learn(unsigned storage, std::int64_t bytes, std::uint64_t duration_ns) noexcept;

  unsigned budget(unsigned storage) const noexcept;

 private:
  SharedStorage* shared_of(std::uint64_t device, const ProcessUse* own) noexcept;
  bool has_room(std::uint64_t device, unsigned budget) const noexcept;
  bool is_used(std::uint64_t device, const ProcessUse* but) const noexcept;
  unsigned most() const noexcept;

  BudgetTable* table_ = nullptr;
  std::atomic<ProcessUse*> entry_{nullptr};
  unsigned nodes_ = 1;
  std::atomic<std::uint64_t> devices_[kStoragesOfProcess] = {};
  std::atomic<SharedStorage*> shared_[kStoragesOfProcess] = {};
};

// This process's.
extern StorageBudget g_storage_budget;

// Of the file of a descriptor, asked for once; StorageBudget::kNone where there is none.
unsigned storage_of(int fd) noexcept;
// The descriptor is closed, or will stand for something else.
void forget_storage_of(int fd) noexcept;

}  // namespace iotune::prefetch
