#include "logstore/store/overlay.h"

#include <iterator>

namespace iotune::logstore {
namespace {

std::int64_t moved(std::int64_t physical, std::int64_t bytes) {
  return physical == Overlay::kHole ? Overlay::kHole : physical + bytes;
}

}  // namespace

void Overlay::put(std::int64_t offset, std::int64_t length, std::int64_t physical) {
  const std::int64_t end = offset + length;
  auto next = extents_.lower_bound(offset);
  if (next != extents_.begin()) {
    const auto left = std::prev(next);
    const Extent before = left->second;
    if (before.end > offset) {
      if (before.end > end) {
        next = extents_.emplace_hint(next, end,
                                     Extent{before.end, moved(before.physical, end - left->first)});
      }
      left->second.end = offset;
    }
  }
  while (next != extents_.end() && next->first < end) {
    const Extent old = next->second;
    const std::int64_t start = next->first;
    next = extents_.erase(next);
    if (old.end > end) {
      next = extents_.emplace_hint(next, end, Extent{old.end, moved(old.physical, end - start)});
    }
  }
  if (next != extents_.begin()) {
    const auto left = std::prev(next);
    if (left->second.end == offset &&
        moved(left->second.physical, offset - left->first) == physical) {
      left->second.end = end;
      return;
    }
  }
  extents_.emplace_hint(next, offset, Extent{end, physical});
}

Overlay::Piece Overlay::at(std::int64_t offset) const {
  const auto next = extents_.upper_bound(offset);
  if (next != extents_.begin()) {
    const auto& [start, extent] = *std::prev(next);
    if (extent.end > offset) return {true, extent.end, moved(extent.physical, offset - start)};
  }
  return {false, next == extents_.end() ? INT64_MAX : next->first, kHole};
}

}  // namespace iotune::logstore
