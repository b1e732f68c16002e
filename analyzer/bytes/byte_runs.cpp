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
// Of one process. A program that appends lines has any number, and they mean nothing.
constexpr std::size_t kMaxCuts = 256;
constexpr std::size_t kMaxRunsCompared = 32768;

}  // namespace

void ByteRuns::add_cut(std::uint64_t offset) {
  if (many_cuts_ || (!cuts_.empty() && cuts_.back() == offset)) return;
  cuts_.push_back(offset);
  if (cuts_.size() < 2 * kMaxCuts) return;
  std::sort(cuts_.begin(), cuts_.end());
  cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
  if (cuts_.size() <= kMaxCuts) return;
  many_cuts_ = true;
  cuts_ = {};
}

// `pieces` transfers that go on where the one before ended. A long transfer is made in equal pieces
// and a shorter last one; a longer one is another transfer, and so is a shorter one behind one.
void ByteRuns::go_on(std::uint64_t offset, std::uint64_t bytes, std::uint64_t pieces) {
  const std::uint64_t each = bytes / pieces;
  const bool last_piece = each < piece_bytes_ && pieces == 1 && pieces_alike_ > 1;
  if (each != piece_bytes_ && !last_piece) add_cut(offset);
  pieces_alike_ = each == piece_bytes_ ? pieces_alike_ + pieces : pieces;
  piece_bytes_ = each;
}

void ByteRuns::add(std::uint64_t offset, std::uint64_t bytes) {
  add_pieces(offset, bytes, 1);
}

void ByteRuns::add_pieces(std::uint64_t offset, std::uint64_t bytes, std::uint64_t pieces) {
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
      go_on(offset, bytes, pieces);
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
      piece_bytes_ = bytes / pieces;
      pieces_alike_ = pieces;
      last.stride = offset - newest;
      ++last.count;
      return;
    }
  }
  if (was_moved(offset, bytes)) return;
  piece_bytes_ = bytes / pieces;
  pieces_alike_ = pieces;
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
    add_pieces(offset, count * bytes, count);
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
  // Once some are joined their order of time is not known any more.
  std::vector<Progression> by_time;
  if (in_order_ == 0) by_time = pieces_;
  // Steps that move the same again leave equal pieces.
  std::sort(pieces_.begin(), pieces_.end(), in_order);
  pieces_.erase(std::unique(pieces_.begin(), pieces_.end()), pieces_.end());
  find_cuts();
  std::optional<IndexSet> all = IndexSet::of_pieces(pieces_);
  filled_.reset();
  if (all && moved_ > all->size()) {
    if (std::optional<FilledBytes> found = filled_bytes(std::move(by_time), cuts_)) {
      filled_ = std::make_unique<FilledBytes>(std::move(*found));
    }
  }
  return all;
}

// Runs that touch, in any order of time, where no other one goes on over both. `pieces_` is sorted.
void ByteRuns::find_cuts() {
  struct Run {
    std::uint64_t start, end;
  };
  std::vector<Run> runs;
  for (const Progression& piece : pieces_) {
    if (runs.size() + piece.count > kMaxRunsCompared) {
      runs.push_back({piece.start, piece.end()});
      continue;
    }
    for (std::uint64_t i = 0; i < piece.count; ++i) {
      const std::uint64_t start = piece.start + i * piece.stride;
      runs.push_back({start, start + piece.block});
    }
  }
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.start < b.start; });
  std::uint64_t end = 0;
  for (const Run& run : runs) {
    if (end > 0 && run.start == end) add_cut(end);
    end = std::max(end, run.end);
  }
  std::sort(cuts_.begin(), cuts_.end());
  cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
}

}  // namespace iotune::analyzer
