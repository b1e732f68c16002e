#include "analyzer/bytes/byte_runs.h"

#include <algorithm>
#include <span>
#include <tuple>

#include "analyzer/saturating.h"

namespace iotune::analyzer {
namespace {

constexpr std::size_t kMaxPieces = 65536;
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
  if (pieces_.size() >= compact_at_ && !compact()) return;
  pieces_.push_back({offset, 0, 1, bytes});
}

void ByteRuns::add_unknown(std::uint64_t bytes) {
  moved_ = saturating_sum(moved_, bytes);
  unknown_ = unknown_ || bytes > 0;
}

bool ByteRuns::compact() {
  const std::optional<IndexSet> all = joined();
  if (!all || all->progressions().size() > kMaxPieces) {
    unknown_ = true;
    pieces_ = {};
    return false;
  }
  const std::span<const Progression> pieces = all->progressions();
  pieces_.assign(pieces.begin(), pieces.end());
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
  std::vector<IndexSet> sets;
  sets.reserve(pieces_.size());
  std::vector<const IndexSet*> pointers;
  for (const Progression& p : pieces_) {
    std::optional<IndexSet> set = IndexSet::of(p.start, p.stride, p.count, p.block);
    if (!set) return std::nullopt;
    sets.push_back(std::move(*set));
  }
  pointers.reserve(sets.size());
  for (const IndexSet& set : sets) pointers.push_back(&set);
  return IndexSet::united(std::move(pointers));
}

}  // namespace iotune::analyzer
