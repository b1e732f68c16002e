// Makes a request take as long as it would on a slower storage.
#pragma once

#include <cstdint>
#include <mutex>

namespace iotune::prefetch {

// Latency is each request's own: those under way at once wait at once. Bandwidth is shared: bytes
// queue behind each other, as at one device. Safe from any thread.
class RequestDelay {
 public:
  RequestDelay(std::uint64_t latency_ns, std::uint64_t bytes_per_second)
      : latency_ns_(latency_ns), bytes_per_second_(bytes_per_second) {}

  // Sleeps until a request of `bytes` that came at `arrived_ns` (monotonic_ns) may be answered.
  void wait(std::uint64_t arrived_ns, std::uint64_t bytes);

  static std::uint64_t monotonic_ns();

 private:
  const std::uint64_t latency_ns_, bytes_per_second_;
  std::mutex mutex_;
  std::uint64_t device_free_ns_ = 0;
};

}  // namespace iotune::prefetch
