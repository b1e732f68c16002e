// The accesses of a stream that were requested ahead and have not been read yet. The newest
// kMostAhead of them; one that has to make place for another was requested in vain.
#pragma once

#include <cstdint>

#include "patterns/extent.h"

namespace iotune::prefetch {

// Requested ahead of one stream at any time.
inline constexpr unsigned kMostAhead = 32;

class RequestedRing {
 public:
  // True where the access was requested; it is not any longer. Regular streams are read in the
  // order of their requests: then one comparison finds it.
  bool take(const patterns::Extent& access) noexcept {
    if (held_ == 0) return false;
    const std::uint32_t print = print_of(access);
    if (entries_[oldest_].print == print) {
      remove(oldest_);
      return true;
    }
    return take_elsewhere(print);
  }

  bool has(const patterns::Extent& access) const noexcept;

  // Adds an access; returns the bytes that were requested in vain because of it, mostly 0.
  std::uint64_t add(const patterns::Extent& access) noexcept;

  // Forgets all; returns their bytes.
  std::uint64_t clear() noexcept;

  unsigned held() const noexcept { return held_; }

 private:
  // A print stands for offset and length; two accesses of one stream that share one within
  // kMostAhead are one in a hundred million.
  struct Entry {
    std::uint32_t print;  // 0: free
    std::uint32_t bytes;
  };
  static std::uint32_t print_of(const patterns::Extent& access) noexcept {
    std::uint64_t mixed = static_cast<std::uint64_t>(access.offset) * 0x9E3779B97F4A7C15u;
    mixed ^= static_cast<std::uint64_t>(access.length) * 0xC2B2AE3D27D4EB4Fu;
    return static_cast<std::uint32_t>(mixed >> 32) | 1u;
  }
  void remove(unsigned at) noexcept {
    held_bytes_ -= entries_[at].bytes;
    entries_[at] = {};
    --held_;
    while (held_ != 0 && entries_[oldest_].print == 0) oldest_ = (oldest_ + 1) % kMostAhead;
  }
  bool take_elsewhere(std::uint32_t print) noexcept;

  Entry entries_[kMostAhead] = {};
  std::uint64_t held_bytes_ = 0;
  std::uint32_t oldest_ = 0, next_ = 0, held_ = 0;
};

}  // namespace iotune::prefetch
