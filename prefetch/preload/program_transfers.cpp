#include "prefetch/preload/program_transfers.h"

#include "core/os/futex.h"
#include "core/process/process_events.h"

namespace iotune::prefetch {
namespace {

constinit std::atomic<std::uint32_t> g_under_way{0};
constinit std::atomic<std::uint32_t> g_waiting{0};

constinit AfterFork g_after_fork([]() noexcept {
  g_under_way.store(0, std::memory_order_relaxed);
  g_waiting.store(0, std::memory_order_relaxed);
});

}  // namespace

void set_up_program_transfers(const PrefetchHost& host) noexcept {
  host.enlist(g_after_fork);
}

void begin_program_transfer() noexcept {
  g_under_way.fetch_add(1, std::memory_order_seq_cst);
}

void end_program_transfer() noexcept {
  // None is under way in the child of a fork by a handler that has interrupted one.
  std::uint32_t before = g_under_way.load(std::memory_order_relaxed);
  while (before != 0 &&
         !g_under_way.compare_exchange_weak(before, before - 1, std::memory_order_seq_cst)) {
  }
  if (before == 1 && g_waiting.load(std::memory_order_seq_cst) != 0) {
    wake_all(g_under_way);
  }
}

void wait_for_program(const std::atomic<bool>& given_up) noexcept {
  if (g_under_way.load(std::memory_order_seq_cst) == 0) return;
  g_waiting.fetch_add(1, std::memory_order_seq_cst);
  while (const std::uint32_t count = g_under_way.load(std::memory_order_seq_cst)) {
    if (given_up.load(std::memory_order_acquire)) break;
    // Giving up wakes nobody: it is looked at now and then.
    const timespec moment{0, 2'000'000};
    sleep_while(g_under_way, count, &moment);
  }
  g_waiting.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace iotune::prefetch
