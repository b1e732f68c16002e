// The memory that all files of a process may hold together.
#pragma once

#include <atomic>
#include <cstddef>

namespace iotune::gather {

class Budget {
 public:
  explicit Budget(std::size_t bytes) noexcept : left_(bytes) {}

  // False: there is less left, and nothing is taken. Any thread.
  bool take(std::size_t bytes) noexcept {
    std::size_t left = left_.load(std::memory_order_relaxed);
    while (bytes <= left) {
      if (left_.compare_exchange_weak(left, left - bytes, std::memory_order_relaxed)) return true;
    }
    return false;
  }
  void give(std::size_t bytes) noexcept { left_.fetch_add(bytes, std::memory_order_relaxed); }
  std::size_t left() const noexcept { return left_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::size_t> left_;
};

}  // namespace iotune::gather
