// Algorithm 2 (an offset in a local entry) and Algorithm 3 (in a global one), and the search for
// the entry.
//
// Mended in Algorithm 2:
// - Its range test compares with the last element's offset and forgets that element's length: bytes
//   behind its first would be out of range.
// - The remainder by the sum of the deltas supposes that all deltas are positive and no element
//   reaches over the next. Each delta's elements are an arithmetic progression of its own here
//   (a column), whose candidates a division gives for any sign; a stride of zero is one place.
// - The worked example says position 7 and offset 29. For 29 in [0,(3,4,7)^3] the algorithm as
//   printed gives row 2, remainder 1, hence the first delta: position 6, offset 28, which the
//   element covers where its length is 2 or more. Position 7 would be offset 31.
//
// Mended in Algorithm 3:
// - `p = (s / length)·gs.id + col - 1` is an index from 1 less one too many: with ids from 0 it is
//   (s / length)·gs.id + col. The paper's own example adds without the -1.
// - `g.id[1 : p].count(chunkid)` must not count p itself: what the id wrote before is wanted. As
//   printed all 48 look-ups of figure 10 fail; with both mended none does.
// - `gs.id = r / gs.size` means the relative offset, not the repetitions of the same name.
// - The range test ends at the first process's last element; it must cover all ids, also where the
//   last global stride is not full.
#include <algorithm>

#include "analyzer/baselines/he2013/global_index.h"
#include "analyzer/baselines/he2013/grid.h"

namespace iotune::he2013 {
namespace {

using Wide = __int128;  // sums and products of any two int64

Wide floor_div(Wide a, Wide b) {
  const Wide quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

struct Bounds {
  std::int64_t low;
  std::int64_t high;
};

// Of the values of a unit that does not wrap. A column's extremes are its ends.
Bounds bounds(const Unit& unit) {
  Bounds found{unit.start, unit.start};
  const std::uint64_t columns = std::max<std::uint64_t>(unit.deltas.size(), 1);
  for (std::uint64_t column = 0; column < std::min(columns, unit.count); ++column) {
    const std::uint64_t last = column + (unit.count - column - 1) / columns * columns;
    for (const std::uint64_t position : {column, last}) {
      const std::int64_t value = unit.value(position);
      found.low = std::min(found.low, value);
      found.high = std::max(found.high, value);
    }
  }
  return found;
}

std::int64_t longest(std::span<const Unit> lengths) {
  std::int64_t longest = 0;
  for (const Unit& unit : lengths) longest = std::max(longest, bounds(unit).high);
  return longest;
}

// Algorithm 2 on units, so that local and global entries share it.
std::optional<Piece> find_in_units(std::uint32_t chunk_id, const Unit& logical,
                                   std::span<const Unit> lengths, std::span<const Unit> physical,
                                   std::int64_t offset) {
  const std::uint64_t columns = std::max<std::uint64_t>(logical.deltas.size(), 1);
  const Wide stride = logical.stride();
  const Wide reach = longest(lengths);
  std::optional<std::uint64_t> best;  // the last position that covers the offset
  for (std::uint64_t column = 0; column < std::min(columns, logical.count); ++column) {
    const Wide rows = Wide{(logical.count - column - 1) / columns} + 1;
    const Wide first = logical.value(column);
    // Rows whose value v keeps offset - reach < v <= offset.
    Wide from = 0;
    Wide to = rows - 1;
    if (stride > 0) {
      from = std::max(from, floor_div(offset - reach - first, stride) + 1);
      to = std::min(to, floor_div(offset - first, stride));
    } else if (stride < 0) {
      from = std::max(from, -floor_div(offset - first, -stride));
      to = std::min(to, -floor_div(offset - reach - first, -stride) - 1);
    } else if (first > offset || first <= offset - reach) {
      continue;
    }
    for (Wide row = to; row >= from; --row) {
      const auto position = static_cast<std::uint64_t>(row) * columns + column;
      if (best && position < *best) break;
      const Wide value = logical.value(position);
      if (value <= offset && offset < value + value_at(lengths, position)) {
        best = position;
        break;
      }
    }
  }
  if (!best) return std::nullopt;
  const std::int64_t shift = offset - logical.value(*best);
  return Piece{chunk_id, value_at(physical, *best) + shift, value_at(lengths, *best) - shift};
}

}  // namespace

std::optional<Piece> find(const LocalEntry& entry, std::int64_t offset) {
  return find_in_units(entry.chunk_id, entry.logical, entry.lengths, entry.physical, offset);
}

std::optional<Piece> find(const GlobalEntry& entry, std::int64_t offset) {
  const std::optional<Grid> grid = grid_of(entry.logical, entry.lengths, entry.physical);
  if (!grid || entry.id_count == 1) {
    return find_in_units(static_cast<std::uint32_t>(entry.ids.front().start), entry.logical,
                         entry.lengths, entry.physical, offset);
  }
  if (offset < grid->start) return std::nullopt;
  const std::int64_t relative = offset - grid->start;
  const std::int64_t stride_id = relative / grid->global_stride();
  const std::int64_t remainder = relative % grid->global_stride();
  const std::int64_t row = remainder / grid->stride;
  const std::int64_t column = remainder % grid->stride / grid->length;
  const std::int64_t shift = remainder % grid->stride % grid->length;
  const Wide place = Wide{grid->columns} * stride_id + column;
  if (place >= Wide{entry.id_count}) return std::nullopt;
  const auto p = static_cast<std::uint64_t>(place);
  const std::int64_t id = value_at(entry.ids, p);
  const std::int64_t log_start = grid->physical_of(occurrences(entry.ids, p, id));
  return Piece{static_cast<std::uint32_t>(id), log_start + grid->length * row + shift,
               grid->length - shift};
}

void GlobalIndex::make_ranges() {
  for (std::size_t k = 0; k < patterns_.size(); ++k) {
    const GlobalEntry& entry = patterns_[k];
    Bounds range = bounds(entry.logical);
    std::int64_t end = range.high + longest(entry.lengths);
    if (entry.id_count > 1) {
      const Grid grid = *grid_of(entry.logical, entry.lengths, entry.physical);
      const auto strides = (entry.id_count + static_cast<std::uint64_t>(grid.columns) - 1) /
                           static_cast<std::uint64_t>(grid.columns);
      end = grid.start + grid.global_stride() * static_cast<std::int64_t>(strides);
    }
    ranges_.push_back({range.low, end, end, k});
  }
  for (std::size_t k = 0; k < raw_.size(); ++k) {
    const std::int64_t end = raw_[k].logical + raw_[k].length;
    ranges_.push_back({raw_[k].logical, end, end, patterns_.size() + k});
  }
  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range& a, const Range& b) { return a.start < b.start; });
  for (std::size_t k = 1; k < ranges_.size(); ++k) {
    ranges_[k].max_end = std::max(ranges_[k].end, ranges_[k - 1].max_end);
  }
}

std::optional<Piece> GlobalIndex::find(std::int64_t offset) const {
  auto range = std::upper_bound(ranges_.begin(), ranges_.end(), offset,
                                [](std::int64_t at, const Range& r) { return at < r.start; });
  std::optional<Piece> best;
  while (range != ranges_.begin() && std::prev(range)->max_end > offset) {
    --range;
    if (range->end <= offset) continue;
    std::optional<Piece> found;
    if (range->entry < patterns_.size()) {
      found = he2013::find(patterns_[range->entry], offset);
    } else {
      const RawEntry& raw = raw_[range->entry - patterns_.size()];
      const std::int64_t shift = offset - raw.logical;
      found = Piece{raw.chunk_id, raw.physical + shift, raw.length - shift};
    }
    const auto is_later = [&] {
      return found->chunk_id != best->chunk_id ? found->chunk_id > best->chunk_id
                                               : found->physical > best->physical;
    };
    if (found && (!best || is_later())) best = found;
  }
  return best;
}

}  // namespace iotune::he2013
