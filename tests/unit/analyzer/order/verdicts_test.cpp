#include "analyzer/order/models/verdicts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "drawn_program.h"
#include "order_script.h"
#include "tests/unit/drawn_cases.h"

namespace iotune::analyzer {
namespace {

struct Touch {
  std::int64_t begin, end;
  std::uint64_t segment;
};

std::vector<Touch> expand(const std::vector<AccessRun>& runs) {
  std::vector<Touch> result;
  for (const AccessRun& run : runs) {
    std::vector<Touch> touches{{run.start, run.start + run.length, run.segment}};
    for (const RunLevel& level : run.levels) {
      std::vector<Touch> more;
      for (const Touch& touch : touches) {
        for (std::int64_t k = 0; k < level.count; ++k) {
          more.push_back({touch.begin + k * level.stride, touch.end + k * level.stride,
                          touch.segment + static_cast<std::uint64_t>(k * level.segment_step)});
        }
      }
      touches = std::move(more);
    }
    result.insert(result.end(), touches.begin(), touches.end());
  }
  return result;
}

// Rising first segments, none behind `segments`.
std::vector<AccessRun> draw_runs(std::mt19937_64& random, bool write, std::uint64_t segments) {
  const auto below = [&](std::uint64_t end) {
    return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(random);
  };
  std::vector<AccessRun> runs(1 + below(3));
  for (AccessRun& run : runs) {
    run.write = write;
    run.segment = below(segments);
    run.start = static_cast<std::int64_t>(below(40));
    run.length = static_cast<std::int64_t>(1 + below(8));
    std::uint64_t left = segments - 1 - run.segment;
    for (std::uint64_t levels = below(3); levels > 0; --levels) {
      RunLevel level;
      level.count = static_cast<std::int64_t>(2 + below(4));
      level.stride = static_cast<std::int64_t>(below(20));
      const std::uint64_t most = left / static_cast<std::uint64_t>(level.count - 1);
      level.segment_step = static_cast<std::int64_t>(below(most + 1));
      left -= static_cast<std::uint64_t>((level.count - 1) * level.segment_step);
      run.levels.push_back(level);
    }
  }
  std::sort(runs.begin(), runs.end(),
            [](const AccessRun& a, const AccessRun& b) { return a.segment < b.segment; });
  return runs;
}

TEST(Verdicts, PairsAreCountedFromTheLoopsAsOneByOne) {
  std::uint64_t wrong = 0, right = 0;
  const std::uint64_t programs = testing::drawn_cases(6000);
  for (std::uint64_t seed = 1; seed <= programs; ++seed) {
    std::mt19937_64 random(seed);
    const DrawnProgram program = draw_program(seed);
    const HappensBefore order = order_of(program.scripts);
    const bool a_writes = seed % 3 != 0, b_writes = seed % 3 != 1;
    const auto a = draw_runs(random, a_writes, program.scripts[0].segment() + 1);
    const auto b = draw_runs(random, b_writes, program.scripts[1].segment() + 1);
    ConflictGroup group{{0, 0, a}, {1, 0, b}, 0};
    const std::vector<Touch> of_a = expand(a), of_b = expand(b);
    for (const ConsistencyModel model : kConsistencyModels) {
      std::uint64_t pairs = 0, expected = 0;
      for (const Touch& x : of_a) {
        for (const Touch& y : of_b) {
          if (x.begin >= y.end || y.begin >= x.end) continue;
          ++pairs;
          const bool is_right =
              y.segment >= order.first_visible(model, 0, x.segment, 1, 0, !a_writes) ||
              x.segment >= order.first_visible(model, 1, y.segment, 0, 0, !b_writes);
          expected += is_right ? 0 : 1;
        }
      }
      group.pairs = pairs;
      if (pairs == 0) continue;
      ASSERT_EQ(count_wrong(group, order, model), expected)
          << "seed " << seed << ", " << name_of(model);
      wrong += expected;
      right += pairs - expected;
    }
  }
  EXPECT_GT(right, 0U);
  EXPECT_GT(wrong, right / 20);
}

TEST(Verdicts, AWholeGroupWithoutOrderIsCountedWithoutALook) {
  // As many pairs as the group says, not as its runs have.
  std::vector<Script> ranks(2);
  const std::vector<AccessRun> runs(1, AccessRun{0, 0, true, 0, 0, 8, {}});
  const ConflictGroup group{{0, 0, runs}, {1, 0, runs}, 780'000'000};
  EXPECT_EQ(count_wrong(group, order_of(ranks), ConsistencyModel::kPosix), 780'000'000U);
}

}  // namespace
}  // namespace iotune::analyzer
