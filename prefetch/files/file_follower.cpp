#include "prefetch/files/file_follower.h"

#include <algorithm>

namespace iotune::prefetch {

void FileFollower::follow(const FileOrder* order, std::uint32_t place) noexcept {
  order_ = order;
  at_ = asked_ = place;
  depth_ = kLeastWaits;
  misses_ = 0;
  held_ = 0;
  bytes_ahead_ = 0;
}

void FileFollower::drop(std::uint32_t number) noexcept {
  bytes_ahead_ -= ahead_[number].bytes;
  ahead_[number] = ahead_[--held_];
}

// Those that the program has left out: they were read ahead and not used.
void FileFollower::drop_passed() noexcept {
  for (std::uint32_t i = 0; i < held_;) {
    if (ahead_[i].place + kWindow < at_) {
      drop(i);
    } else {
      ++i;
    }
  }
}

// Moves behind the file where it is one of the next. True, too, where it is one of those that were
// passed just now.
bool FileFollower::find(std::uint64_t hash) noexcept {
  const std::uint32_t end = std::min(order_->size(), at_ + kWindow);
  for (std::uint32_t place = at_; place < end; ++place) {
    if (order_->hash_at(place) != hash) continue;
    at_ = place + 1;
    return true;
  }
  for (std::uint32_t place = at_ - std::min(at_, kWindow); place < at_; ++place) {
    if (order_->hash_at(place) == hash) return true;
  }
  return false;
}

FileFollower::Begun FileFollower::begins(std::uint64_t hash, bool waited) noexcept {
  Begun begun;
  for (std::uint32_t i = 0; i < held_ && !begun.ahead; ++i) {
    if (ahead_[i].hash != hash) continue;
    begun.ahead = true;
    begun.bytes = ahead_[i].bytes;
    drop(i);
  }
  if (!begun.ahead) waits_ = std::clamp(waits_ + (waited ? 1 : -1), 0, kMostWaits);
  if (order_ == nullptr) return begun;
  begun.foreseen = find(hash);
  if (begun.foreseen) {
    misses_ = 0;
    depth_ = std::clamp<std::uint32_t>(2 * depth_, 1, kMostAhead);
    drop_passed();
  } else {
    depth_ /= 2;
    if (++misses_ == kMostMisses) follow(nullptr, 0);
  }
  return begun;
}

std::uint32_t FileFollower::next() noexcept {
  if (order_ == nullptr || waits_ < kLeastWaits) return kNone;
  asked_ = std::max(asked_, at_);
  const std::uint32_t end = std::min(order_->size(), at_ + depth_);
  while (asked_ < end && held_ < kMostAhead && bytes_ahead_ < kMostBytesAhead) {
    const std::uint32_t place = asked_++;
    const std::uint64_t hash = order_->hash_at(place);
    const bool is_known =
        std::any_of(ahead_, ahead_ + held_, [hash](const Ahead& one) { return one.hash == hash; });
    if (is_known) continue;
    ahead_[held_++] = {hash, place, 0};
    return place;
  }
  return kNone;
}

void FileFollower::set_bytes(std::uint64_t hash, std::uint32_t bytes) noexcept {
  for (std::uint32_t i = 0; i < held_; ++i) {
    if (ahead_[i].hash != hash) continue;
    bytes_ahead_ += bytes - ahead_[i].bytes;
    ahead_[i].bytes = bytes;
  }
}

}  // namespace iotune::prefetch
