#include "prefetch/streams/requested_ring.h"

namespace iotune::prefetch {

bool RequestedRing::take_elsewhere(Print print) noexcept {
  for (unsigned i = 0; i < kMostAhead; ++i) {
    if (prints_[i] != print) continue;
    remove(i);
    return true;
  }
  return false;
}

bool RequestedRing::has(const patterns::Extent& access) const noexcept {
  const Print print = print_of(access);
  for (const Print one : prints_) {
    if (one == print) return true;
  }
  return false;
}

void RequestedRing::add(const patterns::Extent& access) noexcept {
  if (prints_[next_] != 0) remove(next_);
  if (held_ == 0) oldest_ = next_;
  prints_[next_] = print_of(access);
  ++held_;
  next_ = static_cast<std::uint8_t>((next_ + 1) % kMostAhead);
}

}  // namespace iotune::prefetch
