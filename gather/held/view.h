// Where the bytes of a view lie in the file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace iotune::gather {

// `count` pieces of `bytes` bytes, the first at `offset`, each `stride` behind the one before.
struct PieceLoop {
  std::int64_t offset, bytes, stride, count;
};

struct Range {
  std::int64_t begin, end;
};

// From its displacement on the file is tiles of `tile_bytes`; of each the view has its loops. An
// offset counts etypes of what the view has.
class View {
 public:
  // Bytes from the file's begin on.
  View() noexcept = default;

  struct Shape {
    std::int64_t displacement, etype_bytes, tile_bytes;
  };
  // False where the view cannot be followed: the loops go back, overlap or have no whole etypes.
  // Nothing is known of it then. Throws std::bad_alloc.
  bool set(const Shape& shape, std::span<const PieceLoop> loops);
  void forget() noexcept { etype_bytes_ = 0; }

  // One piece without an end. False of one that is not known.
  bool is_dense() const noexcept { return is_known() && is_dense_; }
  bool is_known() const noexcept { return etype_bytes_ > 0; }
  std::int64_t etype_bytes() const noexcept { return etype_bytes_; }
  // Of `bytes` of a transfer: what lies in one piece of the file, on average.
  std::int64_t bytes_of_a_piece(std::int64_t bytes) const noexcept {
    return is_dense_ ? bytes : std::min(bytes, data_bytes_ / pieces_);
  }

  // `visit(offset in the file, bytes)` for each piece of a transfer, ascending; it stops at false.
  // `offset` >= 0, `bytes` >= 0; the view is known.
  template <typename Visit>
  bool each_piece(std::int64_t offset, std::int64_t bytes, Visit visit) const {
    std::int64_t at = offset * etype_bytes_;
    if (is_dense_) return bytes == 0 || visit(shape_.displacement + first_ + at, bytes);
    std::int64_t tile = at / data_bytes_;
    for (at %= data_bytes_; bytes > 0; at = 0, ++tile) {
      const std::int64_t base = shape_.displacement + tile * shape_.tile_bytes;
      auto loop =
          std::upper_bound(loops_.begin(), loops_.end(), at,
                           [](std::int64_t data, const Loop& one) { return data < one.before; }) -
          1;
      for (; loop != loops_.end() && bytes > 0; ++loop) {
        for (std::int64_t within = at - loop->before; within < loop->bytes * loop->count;) {
          const std::int64_t piece = within / loop->bytes, skipped = within % loop->bytes;
          const std::int64_t here = std::min(bytes, loop->bytes - skipped);
          if (here == 0) return true;
          if (!visit(base + loop->offset + piece * loop->stride + skipped, here)) return false;
          within += here;
          at += here;
          bytes -= here;
        }
      }
    }
    return true;
  }

  // From the first to the last byte of a transfer of at least one.
  Range range_of(std::int64_t offset, std::int64_t bytes) const noexcept {
    return {place_of(offset * etype_bytes_), place_of(offset * etype_bytes_ + bytes - 1) + 1};
  }

 private:
  struct Loop : PieceLoop {
    std::int64_t before;  // the bytes of the loops in front of it
  };

  std::int64_t place_of(std::int64_t data) const noexcept;

  Shape shape_{0, 1, 1};
  std::int64_t etype_bytes_ = 1;  // 0: not known
  bool is_dense_ = true;          // a tile is one piece, from first_ on, and has no holes
  std::int64_t first_ = 0, data_bytes_ = 1, pieces_ = 1;
  std::vector<Loop> loops_;
};

}  // namespace iotune::gather
