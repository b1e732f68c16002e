#include "gather/held/view.h"

namespace iotune::gather {

bool View::set(const Shape& shape, std::span<const PieceLoop> loops) {
  forget();
  if (shape.displacement < 0 || shape.etype_bytes <= 0) return false;
  loops_.clear();
  loops_.reserve(loops.size());
  shape_ = shape;
  data_bytes_ = pieces_ = 0;
  std::int64_t end = 0;
  for (const PieceLoop& loop : loops) {
    if (loop.count <= 0 || loop.bytes <= 0) continue;
    const bool goes_on = loop.count == 1 || loop.stride >= loop.bytes;
    if (loop.offset < end || !goes_on) return false;
    loops_.push_back({loop, data_bytes_});
    data_bytes_ += loop.bytes * loop.count;
    pieces_ += loop.count;
    end = loop.offset + (loop.count - 1) * (loop.count == 1 ? 0 : loop.stride) + loop.bytes;
  }
  if (loops_.empty() || data_bytes_ % shape.etype_bytes != 0) return false;
  // The next tile begins where this one's last byte is passed, or behind it.
  if (shape.tile_bytes < end - loops_.front().offset) return false;
  first_ = loops_.front().offset;
  is_dense_ = pieces_ == 1 && data_bytes_ == shape.tile_bytes;
  etype_bytes_ = shape.etype_bytes;
  return true;
}

std::int64_t View::place_of(std::int64_t data) const noexcept {
  if (is_dense_) return shape_.displacement + first_ + data;
  const std::int64_t in_tile = data % data_bytes_;
  auto loop = loops_.end() - 1;
  while (loop->before > in_tile) --loop;
  const std::int64_t within = in_tile - loop->before;
  return shape_.displacement + data / data_bytes_ * shape_.tile_bytes + loop->offset +
         within / loop->bytes * loop->stride + within % loop->bytes;
}

}  // namespace iotune::gather
