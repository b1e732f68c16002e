// Accesses that were folded are still all there, and regular ones are few loops.
#include "analyzer/order/accesses/fold_accesses.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analyzer/order/count_overlaps.h"
#include "analyzer/order/overlap_counter.h"
#include "tests/unit/analyzer/order/drawn_accesses.h"
#include "tests/unit/drawn_cases.h"

namespace iotune::analyzer {
namespace {

using drawn::Access;

AccessRun single(const Access& access) {
  AccessRun run;
  run.start = access.start;
  run.length = access.length;
  run.segment = access.segment;
  return run;
}

std::vector<AccessRun> folded(const std::vector<Access>& accesses) {
  AccessFolder folder;
  for (const Access& one : accesses) folder.add(single(one));
  std::vector<AccessRun> runs;
  folder.finish(runs);
  return runs;
}

TEST(AccessFolder, KeepsAllAccesses) {
  drawn::AccessDraw draw(7);
  for (std::uint64_t i = 0; i < testing::drawn_cases(12000); ++i) {
    std::vector<Access> accesses = draw.accesses(draw.between(1, 9));
    const std::vector<AccessRun> runs = folded(accesses);
    std::vector<Access> kept = drawn::expanded(runs);
    std::sort(accesses.begin(), accesses.end());
    std::sort(kept.begin(), kept.end());
    ASSERT_EQ(kept, accesses);
    ASSERT_TRUE(std::is_sorted(runs.begin(), runs.end(),
                               [](const auto& x, const auto& y) { return x.segment < y.segment; }));
  }
}

TEST(AccessFolder, RowsWithABarrierAfterEachAreOneLoop) {
  AccessFolder folder;
  for (std::uint64_t step = 0; step < 5; ++step) {
    for (std::uint64_t row = 0; row < 100; ++row) {
      for (int column = 0; column < 10; ++column) {
        const auto at = static_cast<std::int64_t>(step * 1'000'000 + row * 1000);
        folder.add(single({at + column * 16, 8, 2 * step}));
      }
    }
  }
  std::vector<AccessRun> runs;
  folder.finish(runs);
  ASSERT_EQ(runs.size(), 1U);
  const std::vector<RunLevel> levels = {{1'000'000, 5, 2}, {1000, 100, 0}, {16, 10, 0}};
  EXPECT_EQ(runs[0].levels, levels);
}

// Loops that are given as such go on, as single accesses would.
TEST(AccessFolder, LoopsGoOn) {
  AccessFolder folder;
  for (std::int64_t part = 0; part < 6; ++part) {
    AccessRun run = single({part * 80, 8, 0});
    run.levels = {{8, 10, 0}};
    folder.add(run);
  }
  std::vector<AccessRun> runs;
  folder.finish(runs);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].levels, (std::vector<RunLevel>{{8, 60, 0}}));
}

bool overlap(const Access& a, const Access& b) {
  return a.start < b.start + b.length && b.start < a.start + a.length;
}

TEST(OverlapCounter, CountsWhatIsInTheSegments) {
  drawn::AccessDraw draw(8);
  for (std::uint64_t i = 0; i < testing::drawn_cases(6000); ++i) {
    std::vector<Access> a, b;
    std::vector<AccessRun> runs[2];
    for (auto* const side : {&a, &b}) {
      // Of several lengths, as one call site may move.
      std::vector<AccessRun>& own = runs[side == &a ? 0 : 1];
      for (std::int64_t lengths = draw.between(1, 2); lengths > 0; --lengths) {
        const std::vector<Access> more = draw.accesses(draw.between(1, 12));
        side->insert(side->end(), more.begin(), more.end());
        const std::vector<AccessRun> loops = folded(more);
        own.insert(own.end(), loops.begin(), loops.end());
      }
      std::stable_sort(own.begin(), own.end(),
                       [](const auto& x, const auto& y) { return x.segment < y.segment; });
    }
    const auto range = [&] {
      const auto from = static_cast<std::uint64_t>(draw.between(0, 12));
      return SegmentRange{from, from + static_cast<std::uint64_t>(draw.between(0, 25))};
    };
    const OverlapCounter counter(runs[0], runs[1]);
    const SegmentRange everything;
    for (const auto& [of_a, of_b] :
         {std::pair(everything, everything), std::pair(range(), range())}) {
      const auto has = [](SegmentRange wanted, const Access& one) {
        return wanted.from <= one.segment && one.segment < wanted.until;
      };
      std::uint64_t pairs = 0;
      for (const Access& x : a) {
        for (const Access& y : b) {
          pairs += has(of_a, x) && has(of_b, y) && overlap(x, y) ? 1 : 0;
        }
      }
      ASSERT_EQ(counter.count(of_a, of_b), pairs);
      const auto example = counter.example(of_a, of_b);
      ASSERT_EQ(example.has_value(), pairs > 0);
      if (!example) continue;
      const Access x{example->first.start, example->first.length, example->first.segment};
      const Access y{example->second.start, example->second.length, example->second.segment};
      ASSERT_TRUE(overlap(x, y) && has(of_a, x) && has(of_b, y));
      ASSERT_NE(std::find(a.begin(), a.end(), x), a.end());
      ASSERT_NE(std::find(b.begin(), b.end(), y), b.end());
    }
  }
}

}  // namespace
}  // namespace iotune::analyzer
