#include "core/process/process_events.h"

namespace iotune {
namespace {

constinit std::atomic<AfterFork*> g_after_fork{nullptr};
constinit std::atomic<AfterUnload*> g_after_unload{nullptr};
constinit std::atomic<ProcessLock*> g_locks{nullptr};

// Without a lock: an entry is added by the first caller, and never removed.
template <class Entry>
void push(std::atomic<Entry*>& first, Entry& entry, Entry*& next, std::atomic<bool>& is_listed) {
  if (is_listed.exchange(true, std::memory_order_relaxed)) return;
  next = first.load(std::memory_order_relaxed);
  while (!first.compare_exchange_weak(next, &entry, std::memory_order_release,
                                      std::memory_order_relaxed)) {
  }
}

}  // namespace

void AfterFork::add() noexcept {
  push(g_after_fork, *this, next_, is_listed_);
}

void AfterUnload::add() noexcept {
  push(g_after_unload, *this, next_, is_listed_);
}

void ProcessLock::add() noexcept {
  push(g_locks, *this, next_, is_listed_);
}

void run_after_fork(bool privileges_dropped) noexcept {
  for (ProcessLock* lock = g_locks.load(std::memory_order_acquire); lock != nullptr;
       lock = lock->next_) {
    lock->unlock();
  }
  for (AfterFork* entry = g_after_fork.load(std::memory_order_acquire); entry != nullptr;
       entry = entry->next_) {
    if (!privileges_dropped || entry->when_ == WhenCopied::kAlways) entry->action_();
  }
}

void run_after_unload(std::uint16_t provider) noexcept {
  for (AfterUnload* entry = g_after_unload.load(std::memory_order_acquire); entry != nullptr;
       entry = entry->next_) {
    entry->action_(provider);
  }
}

}  // namespace iotune
