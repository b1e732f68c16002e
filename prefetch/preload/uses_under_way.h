// How many calls of ours use something now, for code that must wait until there are none.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/os/futex.h"

namespace iotune::prefetch {

// All zero is none.
class UsesUnderWay {
 public:
  void begin() noexcept { word_.fetch_add(1, std::memory_order_relaxed); }
  void end() noexcept {
    if (word_.fetch_sub(1, std::memory_order_release) == (kAwaited | 1)) wake_all(word_);
  }
  // Sleeps until all have ended. New ones are prevented by other means.
  void wait_for_end() noexcept {
    for (;;) {
      const std::uint32_t uses = word_.load(std::memory_order_acquire) & ~kAwaited;
      if (uses == 0) break;
      std::uint32_t seen = uses;
      if (word_.compare_exchange_strong(seen, uses | kAwaited) || seen == (uses | kAwaited)) {
        sleep_while(word_, uses | kAwaited);
      }
    }
    word_.fetch_and(~kAwaited, std::memory_order_relaxed);
  }
  // Of a process whose threads do not exist here.
  void forget() noexcept { word_.store(0, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kAwaited = 0x80000000;
  std::atomic<std::uint32_t> word_{0};
};

}  // namespace iotune::prefetch
