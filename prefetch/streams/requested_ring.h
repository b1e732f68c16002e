// The accesses of a stream that were requested ahead and have not been read yet. The newest
// kMostAhead of them; one that has to make place for another was requested and never read.
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
    const Print print = print_of(access);
    if (prints_[oldest_] == print) {
      remove(oldest_);
      return true;
    }
    return take_elsewhere(print);
  }

  bool has(const patterns::Extent& access) const noexcept;

  void add(const patterns::Extent& access) noexcept;
  void clear() noexcept { *this = {}; }

  unsigned held() const noexcept { return held_; }

 private:
  // A hash of offset and length, 0: free. Of two accesses of one stream within kMostAhead one in
  // two thousand shares its print with another: a count is wrong then, or a hint is not given.
  using Print = std::uint16_t;
  static Print print_of(const patterns::Extent& access) noexcept {
    std::uint64_t mixed = static_cast<std::uint64_t>(access.offset) * 0x9E3779B97F4A7C15u;
    mixed ^= static_cast<std::uint64_t>(access.length) * 0xC2B2AE3D27D4EB4Fu;
    const auto print = static_cast<Print>(mixed >> 48);
    return print == 0 ? Print{1} : print;
  }
  void remove(unsigned at) noexcept {
    prints_[at] = 0;
    --held_;
    while (held_ != 0 && prints_[oldest_] == 0) {
      oldest_ = static_cast<std::uint8_t>((oldest_ + 1) % kMostAhead);
    }
  }
  bool take_elsewhere(Print print) noexcept;

  Print prints_[kMostAhead] = {};
  std::uint8_t oldest_ = 0, next_ = 0, held_ = 0;
};

}  // namespace iotune::prefetch
