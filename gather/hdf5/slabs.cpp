#include "gather/hdf5/slabs.h"

#include <algorithm>
#include <limits>

namespace iotune::gather {
namespace {

// How many elements lie between neighbours in each dimension.
struct Pitches {
  explicit Pitches(const Extent& extent) noexcept {
    std::uint64_t pitch = 1;
    for (unsigned d = extent.n; d-- > 0;) {
      of[d] = pitch;
      pitch *= extent.dims[d];
    }
  }
  std::uint64_t of[kMostDimensions];
};

Hyperslab point_at(const Extent& extent, const Pitches& pitches, std::uint64_t offset) noexcept {
  Hyperslab slab;
  for (unsigned d = 0; d < extent.n; ++d) {
    slab.start[d] = offset / pitches.of[d] % extent.dims[d];
    slab.stride[d] = slab.count[d] = slab.block[d] = 1;
  }
  return slab;
}

// The box that begins at `offset` and has as many of `elements` elements as a box can.
Hyperslab box_at(const Extent& extent, const Pitches& pitches, std::uint64_t offset,
                 std::uint64_t elements, std::uint64_t& taken) noexcept {
  Hyperslab box = point_at(extent, pitches, offset);
  taken = 1;
  for (unsigned d = extent.n; d-- > 0;) {
    // So far the box is whole in the dimensions behind d.
    const std::uint64_t most = std::min(elements / pitches.of[d], extent.dims[d] - box.start[d]);
    if (most == 0) break;
    box.block[d] = most;
    taken = most * pitches.of[d];
    if (box.start[d] != 0 || most != extent.dims[d]) break;
  }
  return box;
}

unsigned first_wide(const Hyperslab& box, unsigned n) noexcept {
  unsigned d = 0;
  while (d + 1 < n && box.block[d] == 1) ++d;
  return d;
}

// The run as one hyperslab: its pieces are boxes, one behind the other along a dimension.
bool slab_of_run(const Extent& extent, const Pitches& pitches, std::uint64_t offset,
                 std::uint64_t elements, std::uint64_t stride, std::uint64_t count,
                 Hyperslab& slab) noexcept {
  std::uint64_t taken = 0;
  slab = box_at(extent, pitches, offset, elements, taken);
  if (taken != elements) return false;
  if (count == 1) return true;
  for (unsigned d = 0; d <= first_wide(slab, extent.n); ++d) {
    if (stride % pitches.of[d] != 0) continue;
    const std::uint64_t steps = stride / pitches.of[d];
    if (steps < slab.block[d]) return false;
    const std::uint64_t last = slab.start[d] + (count - 1) * steps + slab.block[d];
    if (last > extent.dims[d]) return false;
    slab.stride[d] = steps;
    slab.count[d] = count;
    return true;
  }
  return false;
}

// `next` is what `last` would select one step further along one dimension, behind all its points.
bool goes_on(const Hyperslab& last, const Hyperslab& next, unsigned n, unsigned& along) noexcept {
  along = n;
  for (unsigned d = 0; d < n; ++d) {
    if (last.block[d] != next.block[d]) return false;
    if (last.start[d] == next.start[d] && last.count[d] == next.count[d] &&
        (last.count[d] == 1 || last.stride[d] == next.stride[d])) {
      continue;
    }
    if (along != n || next.count[d] != 1 || next.start[d] <= last.start[d]) return false;
    along = d;
  }
  if (along == n) return false;
  // Row-major order asks for it: in front of this dimension there is one index alone.
  for (unsigned d = 0; d < along; ++d) {
    if (last.count[d] != 1 || last.block[d] != 1) return false;
  }
  const std::uint64_t steps = next.start[along] - last.start[along];
  const std::uint64_t count = last.count[along];
  if (count == 1) return steps >= last.block[along];
  return steps == count * last.stride[along];
}

void add(std::vector<Hyperslab>& slabs, const Hyperslab& next, unsigned n) {
  unsigned along = 0;
  if (!slabs.empty() && goes_on(slabs.back(), next, n, along)) {
    Hyperslab& last = slabs.back();
    if (last.count[along] == 1) last.stride[along] = next.start[along] - last.start[along];
    ++last.count[along];
    return;
  }
  slabs.push_back(next);
}

// Columns become planes, and planes boxes.
void join(std::vector<Hyperslab>& slabs, unsigned n) {
  for (std::size_t before = slabs.size() + 1; slabs.size() < before;) {
    before = slabs.size();
    std::vector<Hyperslab> joined;
    for (const Hyperslab& slab : slabs) add(joined, slab, n);
    slabs.swap(joined);
  }
}

}  // namespace

bool Extent::operator==(const Extent& other) const noexcept {
  return n == other.n && std::equal(dims, dims + n, other.dims);
}

std::uint64_t Extent::elements() const noexcept {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::uint64_t all = 1;
  for (unsigned d = 0; d < n; ++d) {
    if (dims[d] == 0) return 0;
    if (all > kMost / dims[d]) return UINT64_MAX;
    all *= dims[d];
  }
  return all;
}

bool Hyperslab::fits(const Extent& extent) const noexcept {
  for (unsigned d = 0; d < extent.n; ++d) {
    if (count[d] == 0 || block[d] == 0 || (count[d] > 1 && stride[d] < block[d])) return false;
    const std::uint64_t room = extent.dims[d];
    if (block[d] > room || start[d] > room - block[d]) return false;
    if (count[d] > 1 && (room - block[d] - start[d]) / stride[d] < count[d] - 1) return false;
  }
  return true;
}

std::uint64_t Hyperslab::elements(unsigned n) const noexcept {
  std::uint64_t all = 1;
  for (unsigned d = 0; d < n; ++d) all *= count[d] * block[d];
  return all;
}

Hyperslab whole(const Extent& extent) noexcept {
  Hyperslab slab;
  for (unsigned d = 0; d < extent.n; ++d) {
    slab.start[d] = 0;
    slab.stride[d] = slab.count[d] = 1;
    slab.block[d] = extent.dims[d];
  }
  return slab;
}

SlabPieces::SlabPieces(const Extent& extent, const Hyperslab& slab) noexcept {
  const Pitches pitches(extent);
  bool joins = true;  // the dimensions behind are whole: one piece goes on in the next index
  for (unsigned d = extent.n; d-- > 0;) {
    offset_ += slab.start[d] * pitches.of[d];
    const bool one_block = slab.count[d] == 1 || slab.stride[d] == slab.block[d];
    const std::uint64_t width = one_block ? slab.count[d] * slab.block[d] : slab.block[d];
    std::uint64_t in_block = width;
    if (joins) {
      elements_ *= width;
      in_block = 1;
      joins = one_block && width == extent.dims[d];
    }
    const std::uint64_t in_slab = one_block ? 1 : slab.count[d];
    if (in_block * in_slab == 1) continue;
    const std::uint64_t step = pitches.of[d];
    const std::uint64_t jump = (slab.stride[d] - (in_block - 1)) * step;
    levels_[used_++] = {0, 0, in_block, in_slab, step, jump};
    count_ *= in_block * in_slab;
  }
}

std::uint64_t SlabPieces::next() noexcept {
  const std::uint64_t here = offset_;
  for (unsigned i = 0; i < used_; ++i) {
    Level& level = levels_[i];
    if (++level.at < level.in_block) {
      offset_ += level.step;
      return here;
    }
    level.at = 0;
    if (++level.blocks < level.in_slab) {
      offset_ += level.jump;
      return here;
    }
    level.blocks = 0;
    // Back to the first one of this dimension.
    offset_ -=
        (level.in_slab * (level.in_block - 1)) * level.step + (level.in_slab - 1) * level.jump;
  }
  return here;
}

std::vector<Hyperslab> slabs_of(const Extent& extent, std::uint64_t element_bytes,
                                std::span<const Run> pieces) {
  const Pitches pitches(extent);
  std::vector<Hyperslab> slabs;
  for (const Run& run : pieces) {
    const std::uint64_t offset = static_cast<std::uint64_t>(run.offset) / element_bytes;
    const std::uint64_t elements = static_cast<std::uint64_t>(run.bytes) / element_bytes;
    const std::uint64_t stride = static_cast<std::uint64_t>(run.stride) / element_bytes;
    const auto count = static_cast<std::uint64_t>(run.count);
    Hyperslab slab;
    if (slab_of_run(extent, pitches, offset, elements, stride, count, slab)) {
      add(slabs, slab, extent.n);
      continue;
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      for (std::uint64_t done = 0, taken = 0; done < elements; done += taken) {
        add(slabs, box_at(extent, pitches, offset + i * stride + done, elements - done, taken),
            extent.n);
      }
    }
  }
  join(slabs, extent.n);
  return slabs;
}

}  // namespace iotune::gather
