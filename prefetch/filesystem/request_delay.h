// Makes a request take as long as it would on a slower storage.
#pragma once

#include <cstdint>
#include <mutex>
#include <random>

namespace iotune::prefetch {

// Some requests take much longer than the others, as on a large file system whose servers are busy
// with others' work: of `share` of them (0 to 1) the latency is drawn from a power law, whose
// density falls with `exponent` (above 1), from the common latency on. Each request draws for
// itself.
struct LatencyTail {
  double share = 0;
  double exponent = 2;

  // By what the latency of a request is multiplied, of its two drawn fractions in [0, 1).
  double factor(double is_in_tail, double how_far) const noexcept;
};

// Latency is each request's own: those under way at once wait at once. Bandwidth is shared: bytes
// queue behind each other, as at one device. Safe from any thread.
class RequestDelay {
 public:
  RequestDelay(std::uint64_t latency_ns, std::uint64_t bytes_per_second, LatencyTail tail = {})
      : latency_ns_(latency_ns), bytes_per_second_(bytes_per_second), tail_(tail) {}

  // Sleeps until a request of `bytes` that came at `arrived_ns` (monotonic_ns) may be answered.
  void wait(std::uint64_t arrived_ns, std::uint64_t bytes);

  static std::uint64_t monotonic_ns();

 private:
  std::uint64_t drawn_latency_ns();

  const std::uint64_t latency_ns_, bytes_per_second_;
  const LatencyTail tail_;
  std::mutex mutex_;
  std::mt19937_64 random_;  // the same draws in each run; under the mutex
  std::uint64_t device_free_ns_ = 0;
};

}  // namespace iotune::prefetch
