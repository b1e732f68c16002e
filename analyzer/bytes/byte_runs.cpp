#include "analyzer/bytes/byte_runs.h"

#include <algorithm>
#include <span>
#include <tuple>

#include "analyzer/summary/saturating.h"

namespace iotune::analyzer {
namespace {

// No array's rows are made of more (infer_shape.cpp), but accesses in any order may still join.
// Twice as many are held, 1 MiB, and their union as well for a moment.
constexpr std::size_t kMaxPieces = 16384;
constexpr std::uint64_t kFarthest = INT64_MAX;  // where an access may end: off_t

}  // namespace

void ByteRuns::add(std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0) return;
  moved_ = saturating_sum(moved_, bytes);
  if (unknown_) return;
  if (bytes > kFarthest || offset > kFarthest - bytes) {
    unknown_ = true;
    return;
  }
  if (!pieces_.empty()) {
    Progression& last = pieces_.back();
    const std::uint64_t newest = last.start + (last.count - 1) * last.stride;
    if (offset == newest + last.block) {
      if (last.count == 1) {
        last.block += bytes;
        return;
      }
      --last.count;
      const Progression longer{newest, 0, 1, last.block + bytes};
      if (last.count == 1) last.stride = 0;
      pieces_.push_back(longer);
      return;
    }
    if (bytes == last.block && offset > newest + last.block &&
        (last.count == 1 || offset == newest + last.stride)) {
      last.stride = offset - newest;
      ++last.count;
      return;
    }
  }
  if (was_moved(offset, bytes)) return;
  if (pieces_.size() >= compact_at_ && !compact()) return;
  pieces_.push_back({offset, 0, 1, bytes});
}

void ByteRuns::add_run(std::uint64_t offset, std::uint64_t bytes, std::uint64_t count,
                       std::int64_t step) {
  const auto stride = static_cast<std::uint64_t>(step);
  const auto end = static_cast<unsigned __int128>(offset) +
                   static_cast<unsigned __int128>(count - 1) * stride + bytes;
  if (count < 2 || bytes == 0 || step <= 0 || stride < bytes || end > kFarthest) {
    for (std::uint64_t i = 0; i < count; ++i) add(offset + i * stride, bytes);
    return;
  }
  if (stride == bytes) {
    add(offset, count * bytes);
    return;
  }
  add(offset, bytes);
  moved_ = saturating_sum(moved_, (count - 1) * bytes);
  if (unknown_) return;
  const Progression rest{offset + stride, count == 2 ? 0 : stride, count - 1, bytes};
  Progression& last = pieces_.back();
  const std::uint64_t newest = last.start + (last.count - 1) * last.stride;
  if (last.block == bytes && newest == offset && (last.count == 1 || last.stride == stride)) {
    last.stride = stride;
    last.count += count - 1;
  } else {
    pieces_.push_back(rest);
  }
}

void ByteRuns::add_unknown(std::uint64_t bytes) {
  moved_ = saturating_sum(moved_, bytes);
  unknown_ = unknown_ || bytes > 0;
}

// As far as it is cheap to tell.
bool ByteRuns::was_moved(std::uint64_t offset, std::uint64_t bytes) const {
  const auto begin = pieces_.begin(), end = begin + static_cast<std::ptrdiff_t>(in_order_);
  const auto next = std::upper_bound(
      begin, end, offset,
      [](std::uint64_t value, const Progression& piece) { return value < piece.start; });
  if (next == begin) return false;
  const Progression& piece = next[-1];
  return piece.count == 1 && offset + bytes <= piece.start + piece.block;
}

bool ByteRuns::compact() {
  const std::optional<IndexSet> all = joined();
  if (!all || all->progressions().size() > kMaxPieces) {
    unknown_ = true;
    pieces_ = {};
    in_order_ = 0;
    return false;
  }
  const std::span<const Progression> pieces = all->progressions();
  pieces_.assign(pieces.begin(), pieces.end());
  in_order_ = pieces_.size();
  compact_at_ = std::max<std::size_t>(8192, 2 * pieces_.size());
  return true;
}

std::optional<IndexSet> ByteRuns::joined() {
  if (unknown_) return std::nullopt;
  const auto in_order = [](const Progression& a, const Progression& b) {
    return std::tie(a.start, a.stride, a.count, a.block) <
           std::tie(b.start, b.stride, b.count, b.block);
  };
  // Steps that move the same again leave equal pieces.
  std::sort(pieces_.begin(), pieces_.end(), in_order);
  pieces_.erase(std::unique(pieces_.begin(), pieces_.end()), pieces_.end());
  return IndexSet::of_pieces(pieces_);
}

}  // namespace iotune::analyzer
