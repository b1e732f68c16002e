#include "prefetch/filesystem/request_delay.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
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

double LatencyTail::factor(double is_in_tail, double how_far) const noexcept {
  if (is_in_tail >= share) return 1;
  constexpr double kMost = 1e4;  // a request that never ends would hang the program
  return std::min(std::pow(1 - how_far, -1 / (exponent - 1)), kMost);
}

std::uint64_t RequestDelay::drawn_latency_ns() {
  if (tail_.share == 0) return latency_ns_;
  std::uniform_real_distribution<double> fraction(0, 1);
  const std::lock_guard lock(mutex_);
  const double is_in_tail = fraction(random_);
  return static_cast<std::uint64_t>(static_cast<double>(latency_ns_) *
                                    tail_.factor(is_in_tail, fraction(random_)));
}

void RequestDelay::wait(std::uint64_t arrived_ns, std::uint64_t bytes) {
  if (latency_ns_ == 0 && bytes_per_second_ == 0) return;
  const std::uint64_t latency_ns = drawn_latency_ns();
  std::uint64_t until = arrived_ns + latency_ns;
  if (bytes_per_second_ != 0 && bytes != 0) {
    const auto cost = static_cast<std::uint64_t>(static_cast<double>(bytes) * 1e9 /
                                                 static_cast<double>(bytes_per_second_));
    const std::lock_guard lock(mutex_);
    device_free_ns_ = std::max(device_free_ns_, arrived_ns) + cost;
    until = device_free_ns_ + latency_ns;
  }
  const timespec at{static_cast<time_t>(until / kSecond), static_cast<long>(until % kSecond)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
  }
}

}  // namespace iotune::prefetch
