#include "prefetch/budget/requests_under_way.h"

#include <fcntl.h>
#include <time.h>

#include "core/os/futex.h"
#include "core/os/raw_syscall.h"
#include "core/process/process_events.h"
#include "prefetch/preload/helper_thread.h"

namespace iotune::prefetch {
namespace {

struct Request {
  unsigned slot;
  int fd;
  std::uint32_t file, bytes;
  std::int64_t last_byte;
  std::uint64_t begin_ns;
  unsigned storage;
};

// What took less was in memory, at least in part.
constexpr std::uint64_t kQuickNs = 50'000;

constinit Request g_requests[kMostRequests] = {};
// Since the beginning; as indices modulo kMostRequests. Only the helper adds to the first, only the
// watching thread to the second.
constinit std::atomic<std::uint32_t> g_begun{0}, g_ended{0};
constinit const PrefetchHost* g_host = nullptr;

std::uint64_t now_ns() noexcept {
  timespec now{};
  raw::call(SYS_clock_gettime, CLOCK_MONOTONIC, raw::word(&now));
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// False where the descriptor was closed meanwhile: nobody waits for the request any more.
bool wait_for(const Request& request) noexcept {
  StreamSlot& slot = *slot_number(request.slot);
  {
    const SleepGuard guard(slot.lock);
    if (!slot.live || slot.fd != request.fd || slot.file != request.file) return false;
    // From here on the descriptor stays what it is: who closes it waits for us.
    slot.in_flight.begin();
  }
  char byte;
  const long bytes = raw::call(SYS_pread64, request.fd, raw::word(&byte), 1, request.last_byte);
  slot.in_flight.end();
  return bytes == 1;
}

void* watch_requests(void*) noexcept {
  g_host->thread_is_ours();
  leave_single_core();
  for (;;) {
    const std::uint32_t ended = g_ended.load(std::memory_order_relaxed);
    const std::uint32_t begun = g_begun.load(std::memory_order_acquire);
    if (begun == ended) {
      sleep_while(g_begun, begun);
      continue;
    }
    const Request request = g_requests[ended % kMostRequests];
    const std::uint64_t asked_ns = now_ns();
    if (wait_for(request)) {
      const std::uint64_t end_ns = now_ns();
      // What was there when it was looked for may have been so for long.
      if (end_ns - asked_ns >= kQuickNs) {
        g_storage_budget.learn(request.storage, request.bytes, end_ns - request.begin_ns);
      }
    }
    g_storage_budget.end_request(request.storage);
    g_ended.store(ended + 1, std::memory_order_release);
  }
  return nullptr;
}

constinit AfterFork g_after_fork([]() noexcept {
  g_storage_budget.leave();
  g_begun.store(0, std::memory_order_relaxed);
  g_ended.store(0, std::memory_order_relaxed);
});

}  // namespace

void set_up_requests(const PrefetchHost& host) noexcept {
  host.enlist(g_after_fork);
}

bool start_request_watch(const PrefetchHost& host) noexcept {
  g_host = &host;
  if (!g_storage_budget.join(host.buffer_root(), static_cast<unsigned>(host.run_nodes()))) {
    return false;
  }
  if (start_quiet_thread(watch_requests)) return true;
  g_storage_budget.leave();
  return false;
}

void hint_within_budget(const StreamSlot& slot, std::int64_t offset, std::int64_t bytes) noexcept {
  const unsigned storage = storage_of(slot.fd);
  const std::uint32_t begun = g_begun.load(std::memory_order_relaxed);
  // The budget is never larger than the ring: an entry is free as soon as there is room in it.
  const bool counted = storage != StorageBudget::kNone &&
                       begun - g_ended.load(std::memory_order_acquire) < kMostRequests;
  if (counted && !g_storage_budget.wait_for_request(storage, slot.closing)) return;
  const std::uint64_t begin_ns = counted ? now_ns() : 0;
  raw::call(SYS_fadvise64, slot.fd, offset, bytes, POSIX_FADV_WILLNEED);
  if (!counted) return;
  g_requests[begun % kMostRequests] = {
      slot.number,        slot.fd,  slot.file, static_cast<std::uint32_t>(bytes),
      offset + bytes - 1, begin_ns, storage};
  g_begun.store(begun + 1, std::memory_order_seq_cst);
  wake_all(g_begun);
}

}  // namespace iotune::prefetch
