#include "prefetch/filesystem/request_delay.h"

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace iotune::prefetch {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

}  // namespace

std::uint64_t RequestDelay::monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kSecond + static_cast<std::uint64_t>(now.tv_nsec);
}

void RequestDelay::wait(std::uint64_t arrived_ns, std::uint64_t bytes) {
  if (latency_ns_ == 0 && bytes_per_second_ == 0) return;
  std::uint64_t until = arrived_ns + latency_ns_;
  if (bytes_per_second_ != 0 && bytes != 0) {
    const auto cost = static_cast<std::uint64_t>(static_cast<double>(bytes) * 1e9 /
                                                 static_cast<double>(bytes_per_second_));
    const std::lock_guard lock(mutex_);
    device_free_ns_ = std::max(device_free_ns_, arrived_ns) + cost;
    until = device_free_ns_ + latency_ns_;
  }
  const timespec at{static_cast<time_t>(until / kSecond), static_cast<long>(until % kSecond)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
  }
}

}  // namespace iotune::prefetch
