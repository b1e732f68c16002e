// Decompositions are drawn, given to the analyzer as the calls of their ranks, and demanded back.
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <random>

#include "analyzer/datasets/descriptor.h"
#include "tests/unit/analyzer/plain_naming.h"

namespace iotune::analyzer {
namespace {

using Random = std::mt19937_64;

std::uint64_t seed_of_test() {
  const char* const given = std::getenv("IOTUNE_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

std::uint64_t between(Random& random, std::uint64_t least, std::uint64_t most) {
  return least + random() % (most - least + 1);
}

// Of one dimension: the indices of each part, and what they have to be called.
struct Drawn {
  std::vector<std::vector<std::uint64_t>> parts;
  std::string name;
  std::uint64_t halo = 0, count = 0;
};

Drawn drawn(Random& random, std::uint64_t most_parts, std::uint64_t most_extent) {
  Drawn dimension;
  const std::uint64_t base = random() % 3 == 0 ? random() % 1000 : 0;
  const std::uint64_t parts = between(random, 1, most_parts);
  dimension.parts.resize(parts);
  const auto fill = [&](std::uint64_t part, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t i = from; i < to; ++i) dimension.parts[part].push_back(base + i);
  };
  const std::uint64_t kind = parts == 1 ? 0 : random() % 4;
  if (kind == 0) {
    dimension.name = parts == 1 ? "*" : "BLOCK";
    std::uint64_t at = 0;
    const std::uint64_t usual = between(random, 1, most_extent);
    for (std::uint64_t part = 0; part < parts; ++part) {
      const std::uint64_t size = random() % 3 == 0 ? between(random, 1, most_extent) : usual;
      fill(part, at, at + size);
      at += size;
    }
  } else if (kind < 3) {
    const std::uint64_t k = kind == 1 ? 1 : between(random, 2, 4);
    dimension.name = kind == 1 ? "CYCLIC" : "CYCLIC(" + std::to_string(k) + ")";
    // A second round at least begins, or it would be BLOCK.
    const std::uint64_t extent = parts * k + between(random, 1, 2 * parts * k);
    for (std::uint64_t i = 0; i < extent; ++i) {
      dimension.parts[i / k % parts].push_back(base + i);
    }
  } else {
    dimension.name = "BLOCK";
    const std::uint64_t width = between(random, 1, 2), block = 2 * width + random() % most_extent;
    const bool ring = random() % 2 == 0 && parts > 2;
    const std::uint64_t extent = parts * block;
    dimension.halo = 2 * width;
    for (std::uint64_t part = 0; part < parts; ++part) {
      const std::uint64_t from = part * block, to = from + block;
      if (ring && part == parts - 1) fill(part, 0, width);
      fill(part, part == 0 ? from : from - width, part == parts - 1 ? to : to + width);
      if (ring && part == 0) fill(part, extent - width, extent);
    }
  }
  for (const auto& part : dimension.parts) {
    dimension.count = std::max<std::uint64_t>(dimension.count, part.size());
  }
  return dimension;
}

IndexSet set_of(const std::vector<std::uint64_t>& indices, std::size_t from, std::size_t to) {
  std::vector<IndexSet> single;
  for (std::size_t i = from; i < to; ++i) single.push_back(IndexSet::interval(indices[i], 1));
  std::vector<const IndexSet*> all;
  for (const IndexSet& set : single) all.push_back(&set);
  return *IndexSet::united(all);
}

// One part of a dimension in pieces that may overlap.
std::vector<IndexSet> pieces_of(const std::vector<std::uint64_t>& part, Random& random) {
  const std::size_t n = part.size();
  if (n < 2 || random() % 2 == 0) return {set_of(part, 0, n)};
  const std::size_t cut = between(random, 1, n - 1), back = random() % 2 == 0 ? random() % cut : 0;
  return {set_of(part, 0, cut), set_of(part, cut - back, n)};
}

// The calls of a rank: the product of its parts, as a whole, in pieces or point by point.
std::vector<Product> calls_of(const std::vector<const std::vector<std::uint64_t>*>& parts,
                              Random& random) {
  std::vector<Product> calls{{}};
  std::uint64_t points = 1;
  for (const auto* part : parts) points *= part->size();
  const bool pointwise = points <= 200 && random() % 8 == 0;
  for (const auto* part : parts) {
    std::vector<IndexSet> pieces;
    if (pointwise) {
      for (std::size_t i = 0; i < part->size(); ++i) pieces.push_back(set_of(*part, i, i + 1));
    } else {
      pieces = pieces_of(*part, random);
    }
    std::vector<Product> longer;
    for (const Product& call : calls) {
      for (const IndexSet& piece : pieces) {
        longer.push_back(call);
        longer.back().push_back(piece);
      }
    }
    calls = std::move(longer);
  }
  // Something that was moved already is moved again.
  if (random() % 4 == 0) calls.push_back(calls[random() % calls.size()]);
  std::shuffle(calls.begin(), calls.end(), random);
  return calls;
}

TEST(DescriptorProperties, WhatIsDrawnComesBack) {
  const std::uint64_t seed = seed_of_test();
  SCOPED_TRACE("IOTUNE_TEST_SEED=" + std::to_string(seed));
  Random random(seed);
  for (int round = 0; round < 600; ++round) {
    const std::size_t n = between(random, 1, 8);
    const std::uint64_t most_parts = n < 4 ? 5 : n < 6 ? 3 : 2, most_extent = n < 4 ? 9 : 3;
    std::vector<Drawn> dimensions;
    std::uint64_t cells = 1;
    for (std::size_t d = 0; d < n; ++d) {
      dimensions.push_back(drawn(random, cells > 64 ? 1 : most_parts, most_extent));
      cells *= dimensions.back().parts.size();
    }
    std::string names, counts;
    std::vector<std::uint64_t> grid, halo;
    bool halos = false;
    for (const Drawn& dimension : dimensions) {
      names += (names.empty() ? "" : ",") + dimension.name;
      counts += (counts.empty() ? "" : ",") + std::to_string(dimension.count);
      grid.push_back(dimension.parts.size());
      halo.push_back(dimension.halo);
      halos = halos || dimension.halo > 0;
    }
    const std::uint64_t holders = random() % 6 == 0 ? 2 : 1;
    std::vector<Region> regions(random() % 3, Region(n));  // ranks without data
    for (std::uint64_t rank = 0; rank < cells * holders; ++rank) {
      std::vector<const std::vector<std::uint64_t>*> parts;
      std::uint64_t place = rank;
      for (const Drawn& dimension : dimensions) {
        parts.push_back(&dimension.parts[place % dimension.parts.size()]);
        place /= dimension.parts.size();
      }
      Region region(n);
      for (Product& call : calls_of(parts, random)) region.add(std::move(call));
      region.finish();
      regions.push_back(std::move(region));
    }
    std::shuffle(regions.begin(), regions.end(), random);
    std::vector<const Region*> pointers;
    for (const Region& region : regions) pointers.push_back(&region);
    const DescribedRegions got = descriptor_of(n, pointers);
    ASSERT_EQ(got.descriptor.text(),
              "<" + std::to_string(n) + "D,(" + names + "),(" + counts + ")>")
        << "round " << round;
    EXPECT_EQ(got.process_grid, grid) << "round " << round;
    EXPECT_EQ(got.halo, halos ? halo : std::vector<std::uint64_t>()) << "round " << round;
    EXPECT_EQ(got.ranks, cells * holders);
  }
}

using plain::Index;
using plain::Share;

void add_box(Share& share, const Index& from, const Index& size) {
  Index at = from;
  for (;;) {
    share.insert(at);
    std::size_t d = at.size();
    while (d-- > 0) {
      if (++at[d] < from[d] + size[d]) break;
      at[d] = from[d];
    }
    if (d == SIZE_MAX) return;
  }
}

Index drawn_index(Random& random, std::size_t n, std::uint64_t least, std::uint64_t most) {
  Index index;
  for (std::size_t d = 0; d < n; ++d) {
    index.push_back(static_cast<std::int64_t>(between(random, least, most)));
  }
  return index;
}

// Shares that are regular seldom or never.
std::vector<Share> odd_shares(Random& random, std::size_t n) {
  const std::uint64_t ranks = between(random, 1, 5), kind = random() % 5;
  std::vector<Share> shares(ranks);
  const auto P = static_cast<std::int64_t>(ranks);
  for (std::int64_t r = 0; r < P; ++r) {
    Share& share = shares[static_cast<std::size_t>(r)];
    if (kind == 0) {  // the cells of a diagonal multipartition
      for (std::int64_t i = 0; i < P; ++i) {
        Index cell(n, 0);
        for (std::size_t d = 0; d < n; ++d) cell[d] = 2 * (d == 0 ? i : (i + r) % P);
        add_box(share, cell, Index(n, 2));
      }
    } else if (kind == 1) {  // strided pieces inside the rank's own block
      for (std::int64_t i = 0; i < 3; ++i) {
        Index from(n, 0), size(n, 2);
        from[0] = 9 * r + 3 * i;
        add_box(share, from, size);
      }
    } else if (kind == 2) {  // any boxes
      for (std::uint64_t i = between(random, 1, 4); i > 0; --i) {
        add_box(share, drawn_index(random, n, 0, 5), drawn_index(random, n, 1, 3));
      }
    } else if (kind == 3) {  // blocks with a gap, an overlap or neither, by chance
      Index from(n, 0), size(n, 3);
      from[0] = 3 * r + static_cast<std::int64_t>(random() % 2);
      size[0] = static_cast<std::int64_t>(between(random, 2, 4));
      add_box(share, from, size);
    } else {  // single points
      for (std::uint64_t i = between(random, 1, 6); i > 0; --i) {
        share.insert(drawn_index(random, n, 0, 3));
      }
    }
  }
  // One cell of a grid is missing now and then.
  if (ranks > 2 && random() % 6 == 0) shares.pop_back();
  return shares;
}

TEST(DescriptorProperties, WhatFitsNothingIsIrregularAndNothingElseIs) {
  const std::uint64_t seed = seed_of_test();
  SCOPED_TRACE("IOTUNE_TEST_SEED=" + std::to_string(seed));
  Random random(seed);
  int irregular = 0;
  for (int round = 0; round < 600; ++round) {
    const std::size_t n = between(random, 1, 3);
    const std::vector<Share> shares = odd_shares(random, n);
    std::vector<Region> regions;
    for (const Share& share : shares) {
      Region region(n);
      for (const Index& index : share) {
        Product point;
        for (const std::int64_t i : index) {
          point.push_back(IndexSet::interval(static_cast<std::uint64_t>(i), 1));
        }
        region.add(std::move(point));
      }
      region.finish();
      regions.push_back(std::move(region));
    }
    std::vector<const Region*> pointers;
    for (const Region& region : regions) pointers.push_back(&region);
    const std::string got = descriptor_of(n, pointers).descriptor.text();
    ASSERT_EQ(got, plain::descriptor_of(shares)) << "round " << round;
    irregular += got.find("IRREGULAR") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(irregular, 300);
}

// Boxes that overlap, in any number of calls, are the box that they fill.
TEST(DescriptorProperties, OverlappingCallsAreJoined) {
  const std::uint64_t seed = seed_of_test();
  SCOPED_TRACE("IOTUNE_TEST_SEED=" + std::to_string(seed));
  Random random(seed);
  for (int round = 0; round < 300; ++round) {
    const std::size_t n = between(random, 1, 3);
    Share all;
    Region region(n);
    for (std::uint64_t i = between(random, 2, 12); i > 0; --i) {
      const Index from = drawn_index(random, n, 0, 3), size = drawn_index(random, n, 1, 4);
      add_box(all, from, size);
      Product box;
      for (std::size_t d = 0; d < n; ++d) {
        box.push_back(IndexSet::interval(static_cast<std::uint64_t>(from[d]),
                                         static_cast<std::uint64_t>(size[d])));
      }
      region.add(std::move(box));
    }
    region.finish();
    std::vector<plain::Indices> sets(n);
    for (const Index& index : all) {
      for (std::size_t d = 0; d < n; ++d) sets[d].insert(index[d]);
    }
    std::size_t hull = 1;
    for (const plain::Indices& set : sets) hull *= set.size();
    ASSERT_EQ(region.regular(), hull == all.size()) << "round " << round;
  }
}

// A hundred thousand ranks, each with a block of three dimensions, in any order.
TEST(DescriptorProperties, ManyRanksAreNamed) {
  constexpr std::uint64_t kSide = 46;
  std::vector<std::uint64_t> ranks(kSide * kSide * kSide);
  std::iota(ranks.begin(), ranks.end(), 0);
  Random random(7);
  std::shuffle(ranks.begin(), ranks.end(), random);
  Decomposition grid(3), slabs(1);
  for (const std::uint64_t rank : ranks) {
    Region block(3), slab(1);
    block.add({IndexSet::interval(rank / kSide / kSide * 64, 64),
               IndexSet::interval(rank / kSide % kSide * 64, 64),
               IndexSet::interval(rank % kSide * 64, 64)});
    slab.add({IndexSet::interval(rank * 1000, 1000)});
    block.finish();
    slab.finish();
    grid.add(block);
    slabs.add(slab);
  }
  EXPECT_EQ(grid.described().descriptor.text(), "<3D,(BLOCK,BLOCK,BLOCK),(64,64,64)>");
  EXPECT_EQ(slabs.described().descriptor.text(), "<1D,(BLOCK),(1000)>");
  EXPECT_EQ(slabs.described().ranks, ranks.size());
}

}  // namespace
}  // namespace iotune::analyzer
