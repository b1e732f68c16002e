// How prefetches give way to the program's own transfers (IOTUNE_PREFETCH_SCHEDULE). The papers'
// schedules stand in prefetch/baselines and are found by name here alone.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "patterns/extent.h"

namespace iotune::prefetch {

// A constant of its schedule; it lives as long as the process.
struct Schedule {
  const char* name;
  // Before each request: returns once it may begin, or `given_up` is set. nullptr: it may at once,
  // and nobody counts the program's transfers.
  void (*wait_for_turn)(const std::atomic<bool>& given_up) noexcept = nullptr;
  // Reads as much from the begin of `wanted` as is one request, into block[block_bytes], where
  // nobody looks at it. Returns the bytes; 0 or less: nothing more can be read. nullptr: the kernel
  // is asked for what is wanted, several requests are under way.
  long (*read_block)(int fd, std::byte* block, const patterns::Extent& wanted) noexcept = nullptr;
  std::size_t block_bytes = 0;
  // A transfer that was requested ahead is not waited for.
  bool passes_predicted = false;
  // Requests stay within the node's budget (storage_budget.h), where there is a table for it.
  bool has_budget = false;

  constexpr bool gives_way() const noexcept { return wait_for_turn != nullptr; }
  // One request after the other is made, by one thread.
  constexpr bool reads_itself() const noexcept { return read_block != nullptr; }
};

// The first one is the default.
std::span<const Schedule* const> schedules() noexcept;
// nullptr if there is none of that name.
const Schedule* schedule_named(const char* name) noexcept;

}  // namespace iotune::prefetch
