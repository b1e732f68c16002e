#include "prefetch/requested_ring.h"

namespace iotune::prefetch {

bool RequestedRing::take_elsewhere(std::uint32_t print) noexcept {
  for (unsigned i = 0; i < kMostAhead; ++i) {
    if (entries_[i].print != print) continue;
    remove(i);
    return true;
  }
  return false;
}

bool RequestedRing::has(const patterns::Extent& access) const noexcept {
  const std::uint32_t print = print_of(access);
  for (const Entry& entry : entries_) {
    if (entry.print == print) return true;
  }
  return false;
}

std::uint64_t RequestedRing::add(const patterns::Extent& access) noexcept {
  std::uint64_t vain = 0;
  if (entries_[next_].print != 0) {
    vain = entries_[next_].bytes;
    remove(next_);
  }
  if (held_ == 0) oldest_ = next_;
  const auto bytes = static_cast<std::uint64_t>(access.length);
  entries_[next_] = {print_of(access),
                     bytes > UINT32_MAX ? UINT32_MAX : static_cast<std::uint32_t>(bytes)};
  held_bytes_ += entries_[next_].bytes;
  ++held_;
  next_ = (next_ + 1) % kMostAhead;
  return vain;
}

std::uint64_t RequestedRing::clear() noexcept {
  const std::uint64_t bytes = held_bytes_;
  *this = {};
  return bytes;
}

}  // namespace iotune::prefetch
