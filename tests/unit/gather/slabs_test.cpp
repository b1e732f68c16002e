// Hyperslabs as pieces and back, against an enumeration of every element.
#include "gather/hdf5/slabs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace iotune::gather {
namespace {

using Offsets = std::vector<std::uint64_t>;

bool is_selected(const Hyperslab& slab, unsigned d, std::uint64_t index) {
  if (index < slab.start[d]) return false;
  const std::uint64_t from_start = index - slab.start[d];
  if (slab.count[d] == 1) return from_start < slab.block[d];
  return from_start / slab.stride[d] < slab.count[d] && from_start % slab.stride[d] < slab.block[d];
}

// The selected elements in row-major order.
Offsets elements_of(const Extent& extent, const Hyperslab& slab) {
  Offsets found;
  for (std::uint64_t at = 0; at < extent.elements(); ++at) {
    std::uint64_t rest = at;
    bool all = true;
    for (unsigned d = extent.n; d-- > 0; rest /= extent.dims[d]) {
      all = all && is_selected(slab, d, rest % extent.dims[d]);
    }
    if (all) found.push_back(at);
  }
  return found;
}

Offsets elements_of(SlabPieces pieces) {
  Offsets found;
  for (std::uint64_t i = 0; i < pieces.count(); ++i) {
    const std::uint64_t first = pieces.next();
    for (std::uint64_t k = 0; k < pieces.elements(); ++k) found.push_back(first + k);
  }
  return found;
}

class Slabs : public testing::Test {
 protected:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  Extent extent() {
    Extent made;
    made.n = 1 + static_cast<unsigned>(below(4));
    for (unsigned d = 0; d < made.n; ++d) made.dims[d] = 1 + below(7);
    return made;
  }
  Hyperslab slab(const Extent& extent) {
    Hyperslab made;
    for (unsigned d = 0; d < extent.n; ++d) {
      const std::uint64_t dim = extent.dims[d];
      made.start[d] = below(dim);
      made.block[d] = 1 + below(dim - made.start[d]);
      made.stride[d] = made.block[d] + below(3);
      made.count[d] = 1 + below((dim - made.start[d] - made.block[d]) / made.stride[d] + 1);
    }
    return made;
  }

  const unsigned seed_ = std::random_device{}();
  std::mt19937_64 random_{seed_};
};

TEST_F(Slabs, PiecesAreTheSelectedElementsInOrder) {
  for (int i = 0; i < 2000; ++i) {
    const Extent all = extent();
    const Hyperslab part = slab(all);
    ASSERT_TRUE(part.fits(all)) << seed_;
    const Offsets expected = elements_of(all, part);
    ASSERT_EQ(part.elements(all.n), expected.size()) << seed_;
    ASSERT_EQ(elements_of(SlabPieces(all, part)), expected) << seed_;
  }
}

TEST_F(Slabs, APieceIsAsLongAsTheLastDimensionsAllow) {
  const Extent all{3, {4, 5, 6}};
  const Hyperslab rows{{1, 0, 0}, {1, 1, 1}, {2, 5, 1}, {1, 1, 6}};
  const SlabPieces pieces(all, rows);
  EXPECT_EQ(pieces.count(), 1U);
  EXPECT_EQ(pieces.elements(), 60U);
}

TEST_F(Slabs, OneThatLeavesTheExtentDoesNotFit) {
  const Extent all{1, {10}};
  EXPECT_TRUE((Hyperslab{{1}, {3}, {3}, {2}}.fits(all)));
  EXPECT_FALSE((Hyperslab{{1}, {4}, {3}, {2}}.fits(all)));
  EXPECT_FALSE((Hyperslab{{9}, {1}, {1}, {2}}.fits(all)));
  EXPECT_FALSE((Hyperslab{{0}, {1}, {2}, {2}}.fits(all))) << "blocks overlap";
  EXPECT_FALSE((Hyperslab{{0}, {UINT64_MAX}, {UINT64_MAX}, {1}}.fits(all)));
}

TEST_F(Slabs, PiecesBecomeHyperslabsAgain) {
  constexpr std::uint64_t kBytes = 3;
  for (int i = 0; i < 2000; ++i) {
    const Extent all = extent();
    SlabPieces pieces(all, slab(all));
    Budget budget(1U << 20U);
    HeldPieces held(budget);
    Offsets expected;
    for (std::uint64_t k = 0; k < pieces.count(); ++k) {
      const std::uint64_t first = pieces.next();
      const std::size_t bytes = pieces.elements() * kBytes;
      ASSERT_NE(held.room_for(static_cast<std::int64_t>(first * kBytes), bytes), nullptr);
      ASSERT_TRUE(held.hold(static_cast<std::int64_t>(first * kBytes), bytes));
      for (std::uint64_t e = 0; e < pieces.elements(); ++e) expected.push_back(first + e);
    }
    Offsets found;
    for (const Hyperslab& one : slabs_of(all, kBytes, held.ascending().runs)) {
      ASSERT_TRUE(one.fits(all)) << seed_;
      const Offsets its = elements_of(all, one);
      found.insert(found.end(), its.begin(), its.end());
    }
    ASSERT_EQ(found, expected) << seed_;
  }
}

// Any set of elements, in any order of writing.
TEST_F(Slabs, SoDoPiecesWithoutAShape) {
  for (int i = 0; i < 500; ++i) {
    const Extent all = extent();
    Budget budget(1U << 20U);
    HeldPieces held(budget);
    std::vector<bool> written(all.elements());
    for (int k = 0; k < 12; ++k) {
      const std::uint64_t first = below(all.elements());
      const std::uint64_t count = 1 + below(std::min<std::uint64_t>(all.elements() - first, 9));
      ASSERT_NE(held.room_for(static_cast<std::int64_t>(first), count), nullptr);
      ASSERT_TRUE(held.hold(static_cast<std::int64_t>(first), count));
      std::fill_n(written.begin() + static_cast<std::ptrdiff_t>(first), count, true);
    }
    Offsets found, expected;
    for (const Hyperslab& one : slabs_of(all, 1, held.ascending().runs)) {
      ASSERT_TRUE(one.fits(all)) << seed_;
      const Offsets its = elements_of(all, one);
      found.insert(found.end(), its.begin(), its.end());
    }
    for (std::uint64_t at = 0; at < written.size(); ++at) {
      if (written[at]) expected.push_back(at);
    }
    ASSERT_EQ(found, expected) << seed_;
  }
}

TEST_F(Slabs, AColumnAndABlockAreOneHyperslabEach) {
  const Extent all{3, {6, 7, 8}};
  for (const Hyperslab& part : {Hyperslab{{0, 0, 3}, {1, 1, 1}, {6, 7, 1}, {1, 1, 1}},
                                Hyperslab{{1, 2, 3}, {1, 1, 1}, {1, 1, 1}, {4, 3, 2}},
                                Hyperslab{{0, 1, 0}, {2, 3, 1}, {3, 2, 1}, {1, 1, 8}}}) {
    SlabPieces pieces(all, part);
    Budget budget(1U << 20U);
    HeldPieces held(budget);
    for (std::uint64_t k = 0; k < pieces.count(); ++k) {
      const auto first = static_cast<std::int64_t>(pieces.next());
      ASSERT_NE(held.room_for(first, pieces.elements()), nullptr);
      ASSERT_TRUE(held.hold(first, pieces.elements()));
    }
    EXPECT_EQ(slabs_of(all, 1, held.ascending().runs).size(), 1U);
  }
}

}  // namespace
}  // namespace iotune::gather
