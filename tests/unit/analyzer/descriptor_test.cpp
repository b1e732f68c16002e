#include "analyzer/datasets/descriptor.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace iotune::analyzer {
namespace {

// How one dimension is divided: what a test draws and demands back.
struct Division {
  Distribution distribution;
  std::uint64_t parts, k;
  std::vector<std::uint64_t> cuts;  // BLOCK: parts + 1 ascending
  std::uint64_t extent;
};

Division draw_division(std::mt19937_64& random) {
  Division division{};
  division.k = 1;
  division.parts = 1 + random() % 4;
  const std::uint64_t kind = random() % 3;
  if (division.parts == 1) {
    division.distribution = Distribution::kWhole;
    division.extent = 1 + random() % 9;
  } else if (kind == 0) {
    division.distribution = Distribution::kBlock;
    division.cuts.push_back(0);
    const std::uint64_t size = 1 + random() % 8;
    for (std::uint64_t i = 0; i < division.parts; ++i) {
      // Equal ones, a short last one, or any sizes.
      const std::uint64_t own = random() % 3 == 0 ? 1 + random() % 9 : size;
      division.cuts.push_back(division.cuts.back() + own);
    }
    division.extent = division.cuts.back();
  } else {
    division.k = kind == 1 ? 1 : 2 + random() % 4;
    division.distribution = kind == 1 ? Distribution::kCyclic : Distribution::kCyclicK;
    // At least one part has a second round, or it would be BLOCK.
    division.extent =
        division.parts * division.k + 1 + random() % (3 * division.parts * division.k);
  }
  return division;
}

// The indices of one part as hyperslab parameters; a cut last round comes on its own.
std::vector<Progression> share(const Division& division, std::uint64_t part) {
  if (division.distribution == Distribution::kWhole) return {{0, 1, division.extent, 1}};
  if (division.distribution == Distribution::kBlock) {
    return {{division.cuts[part], 1, division.cuts[part + 1] - division.cuts[part], 1}};
  }
  const std::uint64_t period = division.parts * division.k;
  std::vector<Progression> pieces;
  std::uint64_t whole = 0;
  std::uint64_t start = part * division.k;
  while (start + division.k <= division.extent) {
    ++whole;
    start += period;
  }
  if (whole > 0) pieces.push_back({part * division.k, period, whole, division.k});
  if (start < division.extent) pieces.push_back({start, 1, division.extent - start, 1});
  return pieces;
}

std::uint64_t size_of(const std::vector<Progression>& pieces) {
  std::uint64_t size = 0;
  for (const Progression& p : pieces) size += p.count * p.block;
  return size;
}

// Cuts a piece in two calls now and then, and gives count 1, block N another form.
std::vector<Progression> as_calls(const std::vector<Progression>& pieces, std::mt19937_64& random) {
  std::vector<Progression> calls;
  for (Progression p : pieces) {
    if (p.stride == 1 && random() % 2 == 0) p = {p.start, 1, 1, p.count};
    if (p.count > 1 && random() % 2 == 0) {
      const std::uint64_t first = 1 + random() % (p.count - 1);
      calls.push_back({p.start, p.stride, first, p.block});
      p = {p.start + first * p.stride, p.stride, p.count - first, p.block};
    }
    calls.push_back(p);
  }
  return calls;
}

TEST(Descriptor, WhatIsDrawnComesBack) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 500; ++round) {
    const std::size_t n = 1 + random() % 4;
    std::vector<Division> divisions;
    for (std::size_t d = 0; d < n; ++d) divisions.push_back(draw_division(random));
    std::uint64_t ranks = 1;
    for (const Division& division : divisions) ranks *= division.parts;
    Descriptor expected;
    std::vector<std::uint64_t> grid;
    for (const Division& division : divisions) {
      std::uint64_t count = 0;
      for (std::uint64_t part = 0; part < division.parts; ++part) {
        count = std::max(count, size_of(share(division, part)));
      }
      expected.dimensions.push_back({division.distribution, count, division.k});
      grid.push_back(division.parts);
    }
    const std::uint64_t steps = 1 + random() % 2;
    std::vector<Region> regions;
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
      std::vector<Product> calls{{}};
      std::uint64_t place = rank;
      for (const Division& division : divisions) {
        const auto pieces = as_calls(share(division, place % division.parts), random);
        place /= division.parts;
        std::vector<Product> longer;
        for (const Product& call : calls) {
          for (const Progression& p : pieces) {
            longer.push_back(call);
            longer.back().push_back(*IndexSet::of(p.start, p.stride, p.count, p.block));
          }
        }
        calls = std::move(longer);
      }
      Region region(n);
      for (std::uint64_t step = 0; step < steps; ++step) {
        std::shuffle(calls.begin(), calls.end(), random);
        for (const Product& call : calls) region.add(call);
      }
      region.finish();
      EXPECT_EQ(region.times_moved(), steps);
      regions.push_back(std::move(region));
    }
    regions.emplace_back(n);  // a rank without data
    std::shuffle(regions.begin(), regions.end(), random);
    std::vector<const Region*> pointers;
    for (const Region& region : regions) pointers.push_back(&region);
    const DescribedRegions described = descriptor_of(n, pointers);
    ASSERT_EQ(described.descriptor.text(), expected.text()) << "round " << round;
    EXPECT_EQ(described.process_grid, grid);
    EXPECT_EQ(described.ranks, ranks);

    const Result<Descriptor> parsed = parse_descriptor(described.descriptor.text());
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->text(), expected.text());
  }
}

struct Box {
  std::vector<std::uint64_t> start, size;
};

Region region_of(const std::vector<Box>& boxes) {
  Region region(boxes[0].start.size());
  for (const Box& box : boxes) {
    Product product;
    for (std::size_t d = 0; d < box.start.size(); ++d) {
      product.push_back(IndexSet::interval(box.start[d], box.size[d]));
    }
    region.add(std::move(product));
  }
  region.finish();
  return region;
}

DescribedRegions described(const std::vector<Region>& regions) {
  std::vector<const Region*> pointers;
  for (const Region& region : regions) pointers.push_back(&region);
  return descriptor_of(regions[0].dimensions(), pointers);
}

TEST(Descriptor, ADiagonalMultipartitionIsIrregular) {
  std::vector<Region> regions;
  for (std::uint64_t rank = 0; rank < 3; ++rank) {
    std::vector<Box> tiles;
    for (std::uint64_t i = 0; i < 3; ++i) tiles.push_back({{4 * i, 4 * ((i + rank) % 3)}, {4, 4}});
    regions.push_back(region_of(tiles));
  }
  const DescribedRegions result = described(regions);
  EXPECT_EQ(result.descriptor.text(), "<2D,(IRREGULAR,IRREGULAR),(12,12)>");
  EXPECT_TRUE(result.process_grid.empty());
}

TEST(Descriptor, StridedPiecesInsideARanksRegionAreIrregular) {
  std::vector<Region> regions;
  for (std::uint64_t rank = 0; rank < 2; ++rank) {
    Region region(1);
    region.add({*IndexSet::of(100 * rank, 2, 50, 1)});
    region.finish();
    regions.push_back(std::move(region));
  }
  EXPECT_EQ(described(regions).descriptor.text(), "<1D,(IRREGULAR),(50)>");
}

TEST(Descriptor, HaloesAreBlocksThatShare) {
  std::vector<Region> regions;
  for (std::uint64_t rank = 0; rank < 3; ++rank) {
    regions.push_back(region_of({{{rank * 10, 0}, {12, 7}}}));
  }
  const DescribedRegions result = described(regions);
  EXPECT_EQ(result.descriptor.text(), "<2D,(BLOCK,*),(12,7)>");
  EXPECT_EQ(result.halo, (std::vector<std::uint64_t>{2, 0}));
  EXPECT_EQ(result.process_grid, (std::vector<std::uint64_t>{3, 1}));
}

TEST(Descriptor, UnequalOverlapsAreIrregular) {
  EXPECT_EQ(described({region_of({{{0, 0}, {12, 7}}}), region_of({{{10, 0}, {12, 7}}}),
                       region_of({{{19, 0}, {12, 7}}})})
                .descriptor.text(),
            "<2D,(IRREGULAR,*),(12,7)>");
}

TEST(Descriptor, BlocksWithGapsBetweenThemAreIrregular) {
  EXPECT_EQ(described({region_of({{{0}, {10}}}), region_of({{{50}, {10}}})}).descriptor.text(),
            "<1D,(IRREGULAR),(10)>");
}

TEST(Descriptor, ATreeOfBoxesLeavesTheUndividedDimensionNamed) {
  const std::vector<Region> regions{region_of({{{0, 0, 0}, {4, 8, 5}}}),
                                    region_of({{{4, 0, 0}, {4, 3, 5}}}),
                                    region_of({{{4, 3, 0}, {4, 5, 5}}})};
  EXPECT_EQ(described(regions).descriptor.text(), "<3D,(IRREGULAR,IRREGULAR,*),(4,8,5)>");
}

TEST(Descriptor, APinwheelOfTilesIsTheBoxThatItFills) {
  const Region region = region_of(
      {{{0, 0}, {2, 1}}, {{0, 1}, {1, 2}}, {{1, 2}, {2, 1}}, {{2, 0}, {1, 2}}, {{1, 1}, {1, 1}}});
  EXPECT_EQ(described({region}).descriptor.text(), "<2D,(*,*),(3,3)>");
}

TEST(Descriptor, ALShapeIsNot) {
  const Region region = region_of({{{0, 0}, {4, 2}}, {{0, 2}, {2, 2}}});
  EXPECT_EQ(described({region}).descriptor.text(), "<2D,(IRREGULAR,IRREGULAR),(4,4)>");
}

TEST(Descriptor, EveryRankReadingAllIsUndivided) {
  const DescribedRegions result =
      described({region_of({{{0, 0}, {4, 6}}}), region_of({{{0, 0}, {4, 6}}})});
  EXPECT_EQ(result.descriptor.text(), "<2D,(*,*),(4,6)>");
  EXPECT_EQ(result.ranks, 2U);
  EXPECT_EQ(result.process_grid, (std::vector<std::uint64_t>{1, 1}));
}

TEST(Descriptor, OneRankOfManyHasItAll) {
  const DescribedRegions result = described({Region(2), region_of({{{0, 0}, {4, 6}}}), Region(2)});
  EXPECT_EQ(result.descriptor.text(), "<2D,(*,*),(4,6)>");
  EXPECT_EQ(result.ranks, 1U);
}

TEST(Descriptor, WhatIsNotKnownIsIrregularWithItsBounds) {
  Region region(2);
  region.add_unknown({2, 3}, {5, 9}, 10);
  region.finish();
  EXPECT_EQ(described({region}).descriptor.text(), "<2D,(IRREGULAR,IRREGULAR),(4,7)>");
}

TEST(Descriptor, MillionsOfSmallWritesStaySmall) {
  std::vector<Region> regions;
  for (std::uint64_t rank = 0; rank < 2; ++rank) {
    Region region(1);
    for (std::uint64_t i = 0; i < 60'000; ++i) region.add({IndexSet::interval(2 * i + rank, 1)});
    region.finish();
    EXPECT_EQ(region.parts().size(), 1U);
    regions.push_back(std::move(region));
  }
  EXPECT_EQ(described(regions).descriptor.text(), "<1D,(CYCLIC),(60000)>");
}

TEST(Descriptor, RandomPointsAreGivenUp) {
  std::mt19937_64 random(1);
  Region region(2);
  for (int i = 0; i < 140'000; ++i) {
    region.add(
        {IndexSet::interval(random() % 1'000'000, 1), IndexSet::interval(random() % 1'000'000, 1)});
  }
  region.finish();
  EXPECT_FALSE(region.regular());
  const DescribedRegions result = described({region});
  EXPECT_EQ(result.descriptor.dimensions[0].distribution, Distribution::kIrregular);
  EXPECT_EQ(region.points_moved(), 140'000U);
}

TEST(DescriptorText, TheGrammarsFormsAreRead) {
  for (const auto& [text, canonical] : std::vector<std::pair<std::string, std::string>>{
           {"<1D, BLOCK, 8388608>", "<1D,(BLOCK),(8388608)>"},
           {"<1D,(CYCLIC(1)),(4)>", "<1D,(CYCLIC),(4)>"},
           {"<1D,CYCLIC(16),(4)>", "<1D,(CYCLIC(16)),(4)>"},
           {"<1D,BLOCK,33554432B>", "<1D,(BLOCK),(33554432 B)>"},
           {"<2D,(*,CYCLIC(16 B)),(7,1200 B)>", "<2D,(*,CYCLIC(16 B)),(7,1200 B)>"},
           {" < 3D , ( * , * , BLOCK ) , (1, 1, 327680) > ", "<3D,(*,*,BLOCK),(1,1,327680)>"},
           {"<2D,(IRREGULAR,CYCLIC( 3 )),(1,2)>", "<2D,(IRREGULAR,CYCLIC(3)),(1,2)>"}}) {
    const Result<Descriptor> parsed = parse_descriptor(text);
    ASSERT_TRUE(parsed) << text << ": " << parsed.error().text();
    EXPECT_EQ(parsed->text(), canonical);
  }
}

TEST(DescriptorText, ErrorsNameThePosition) {
  for (const auto& [text, position] : std::vector<std::pair<std::string, std::string>>{
           {"", "position 1:"},
           {"1D,(BLOCK),(1)>", "position 1:"},
           {"<0D,(),()>", "position 2:"},
           {"<33D,(BLOCK),(1)>", "position 4:"},
           {"<2D,BLOCK,(1,1)>", "position 5:"},
           {"<2D,(BLOCK),(1,1)>", "position 11:"},
           {"<1D,(BLOK),(1)>", "position 6:"},
           {"<1D,(BLOCK),(0)>", "position 14:"},
           {"<1D,(BLOCK),(1,2)>", "position 15:"},
           {"<1D,(CYCLIC(0)),(1)>", "position 13:"},
           {"<1D,(BLOCK),(99999999999999999999)>", "position 14:"},
           {"<1D,(BLOCK),(-1)>", "position 14:"},
           {"<2D,(*,*),(1 B,2)>", "position 14:"},
           {"<2D,(CYCLIC(2 B),*),(1,2 B)>", "position 18:"},
           {"<1D,(CYCLIC(2 B)),(1)>", "position 21:"},
           {"<1D,(BLOCK),(1)> x", "position 18:"}}) {
    const Result<Descriptor> parsed = parse_descriptor(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_TRUE(parsed.error().message.starts_with(position))
        << text << ": " << parsed.error().message;
  }
}

}  // namespace
}  // namespace iotune::analyzer
