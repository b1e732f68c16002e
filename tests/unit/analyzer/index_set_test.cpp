#include "analyzer/datasets/index_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <set>

#include "analyzer/bytes/index_sets.h"

namespace iotune::analyzer {
namespace {

std::set<std::uint64_t> expanded(const IndexSet& set) {
  std::set<std::uint64_t> indices;
  for (const Progression& p : set.progressions()) {
    for (std::uint64_t i = 0; i < p.count; ++i) {
      for (std::uint64_t j = 0; j < p.block; ++j) indices.insert(p.start + i * p.stride + j);
    }
  }
  return indices;
}

TEST(IndexSet, FormsOfOneSetAreEqual) {
  EXPECT_EQ(IndexSet::of(3, 1, 10, 1), IndexSet::of(3, 7, 1, 10));
  EXPECT_EQ(IndexSet::of(3, 5, 2, 5), IndexSet::of(3, 1, 10, 1));
  EXPECT_TRUE(IndexSet::of(3, 5, 0, 5)->empty());
  EXPECT_FALSE(IndexSet::of(0, 2, 3, 4));
  EXPECT_FALSE(IndexSet::of(0, UINT64_MAX / 2, 9, 1));
}

TEST(IndexSet, UnionsAgreeWithSetsAndAreCanonical) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 3000; ++round) {
    std::vector<IndexSet> sets;
    std::set<std::uint64_t> expected;
    for (std::size_t n = 1 + random() % 6; n > 0; --n) {
      const std::uint64_t block = 1 + random() % 4;
      const auto set = IndexSet::of(random() % 60, block + random() % 6, random() % 6, block);
      ASSERT_TRUE(set);
      sets.push_back(*set);
      expected.merge(expanded(*set));
    }
    std::vector<const IndexSet*> pointers;
    for (const IndexSet& set : sets) pointers.push_back(&set);
    const auto all = IndexSet::united(pointers);
    ASSERT_TRUE(all);
    EXPECT_EQ(expanded(*all), expected);
    EXPECT_EQ(all->size(), expected.size());
    if (!all->empty()) {
      const std::uint64_t begin = random() % 120, end = begin + random() % 60;
      std::set<std::uint64_t> between;
      std::copy_if(expected.begin(), expected.end(), std::inserter(between, between.end()),
                   [&](std::uint64_t i) { return begin <= i && i < end; });
      EXPECT_EQ(expanded(all->within(begin, end)), between);
      IndexSets kept;
      kept.add(*all);
      EXPECT_EQ(kept.part(0, begin, end), all->within(begin, end));
    }
    std::vector<IndexSet> points;
    for (const std::uint64_t i : expected) points.push_back(IndexSet::interval(i, 1));
    pointers.clear();
    for (const IndexSet& point : points) pointers.push_back(&point);
    std::shuffle(pointers.begin(), pointers.end(), random);
    EXPECT_EQ(*IndexSet::united(pointers), *all);

    const IndexSet& one = sets[0];
    bool meets = false;
    const auto ones = expanded(one), others = expanded(sets.back());
    for (const std::uint64_t i : ones) meets = meets || others.contains(i);
    if (meets) {
      EXPECT_TRUE(one.may_meet(sets.back()));
    }
    EXPECT_TRUE(all->contains(one));
    if (!std::includes(ones.begin(), ones.end(), others.begin(), others.end())) {
      EXPECT_FALSE(one.contains(sets.back()));
    }
  }
}

TEST(IndexSet, InterleavedSharesOfOneStrideNeverMeet) {
  const IndexSet a = *IndexSet::of(0, 12, 1000, 4), b = *IndexSet::of(4, 12, 1000, 8);
  EXPECT_FALSE(a.may_meet(b));
  EXPECT_FALSE(b.may_meet(a));
  EXPECT_EQ(*IndexSet::united({&a, &b}), IndexSet::interval(0, 12000));
}

TEST(IndexSet, ALongShareStaysShort) {
  const IndexSet a = *IndexSet::of(3, 8, 100'000'000, 1);
  EXPECT_EQ(a.progressions().size(), 1U);
  const IndexSet b = *IndexSet::of(3 + 8 * std::uint64_t{100'000'000}, 8, 100'000'000, 1);
  EXPECT_EQ(*IndexSet::united({&b, &a}), *IndexSet::of(3, 8, 200'000'000, 1));
  const IndexSet other = *IndexSet::of(4, 8, 100'000'000, 1);
  EXPECT_FALSE(IndexSet::united({&a, &other}));  // too many runs to take apart
}

}  // namespace
}  // namespace iotune::analyzer
