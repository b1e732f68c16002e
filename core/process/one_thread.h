// Whether this process has one thread alone: then counters and locks need no locked instructions,
// each of which takes longer than what it guards.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace iotune {

// What glibc keeps for its own locks (from 2.32 on); a 0 of ours where it has none. nullptr before
// the first question. Threads that the program makes past glibc, by clone, it does not know; nor do
// these take its locks.
extern std::atomic<const char*> g_single_threaded;
[[gnu::cold]] const char* find_single_threaded() noexcept;

[[gnu::always_inline]] inline bool has_one_thread() noexcept {
  const char* flag = g_single_threaded.load(std::memory_order_relaxed);
  if (__builtin_expect(flag == nullptr, 0)) flag = find_single_threaded();
  return *static_cast<const volatile char*>(flag) != 0;
}

// Adds `by`, and returns what was there.
template <typename T>
T add_to(std::atomic<T>& counter, std::type_identity_t<T> by) noexcept {
  if (!has_one_thread()) return counter.fetch_add(by, std::memory_order_acq_rel);
  const T before = counter.load(std::memory_order_relaxed);
  counter.store(before + by, std::memory_order_relaxed);
  return before;
}

// Sets `flag`, and returns what it was.
inline bool set_flag(std::atomic<bool>& flag) noexcept {
  if (!has_one_thread()) return flag.exchange(true, std::memory_order_acquire);
  const bool before = flag.load(std::memory_order_relaxed);
  flag.store(true, std::memory_order_relaxed);
  return before;
}

}  // namespace iotune
