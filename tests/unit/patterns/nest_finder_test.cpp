// NestFinder takes accesses one by one in bounded memory: what it lets go of and what it holds at
// the end expands to the accesses again, whatever they were.
#include "patterns/nest_finder.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace iotune::patterns {
namespace {

using Accesses = std::vector<Extent>;

std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

void expand(const NestFinder& finder, std::uint32_t body, std::uint64_t count, const Extent* leaves,
            Accesses& to) {
  if (body == 0) return to.push_back(*leaves);
  const NestBody& loop = finder.body(body);
  const NestPart* const parts = finder.parts(loop);
  const Extent* const strides = finder.strides(loop);
  Accesses now(leaves, leaves + loop.leaves);
  for (std::uint64_t i = 0; i < count; ++i) {
    for (std::uint32_t p = 0; p < loop.parts; ++p) {
      expand(finder, parts[p].body, parts[p].count, now.data() + parts[p].first_leaf, to);
    }
    for (std::uint32_t l = 0; l < loop.leaves; ++l) {
      now[l] = {sum(now[l].offset, strides[l].offset), sum(now[l].length, strides[l].length)};
    }
  }
}

struct Found {
  std::size_t terms = 0;
  Accesses expanded;
};

Found find(const Accesses& accesses, std::uint32_t capacity, std::size_t batch) {
  std::vector<std::uint64_t> memory(NestFinder::memory_bytes(capacity) / 8 + 1);
  NestFinder finder(std::as_writable_bytes(std::span(memory)), capacity);
  Found found;
  const auto let_go = [&](std::uint32_t terms) {
    for (const NestTerm& term : finder.terms().first(terms)) {
      expand(finder, term.body, term.count, finder.leaves(term), found.expanded);
    }
    found.terms += terms;
    finder.drop(terms);
  };
  for (std::size_t done = 0; done < accesses.size();) {
    const std::size_t size = std::min(batch, accesses.size() - done);
    const std::size_t taken = finder.add(accesses.data() + done, size);
    done += taken;
    if (taken < size) let_go(finder.terms_due());
  }
  while (!finder.finish()) let_go(finder.terms_due());
  let_go(static_cast<std::uint32_t>(finder.terms().size()));
  return found;
}

TEST(NestFinder, batches_do_not_break_a_loop) {
  Accesses accesses;
  for (std::int64_t i = 0; i < 40; ++i) {
    for (std::int64_t k = 0; k < 50; ++k) accesses.push_back({i * 10000 + k * 64, 64});
  }
  for (const std::size_t batch : {1U, 7U, 100000U}) {
    const Found found = find(accesses, 64, batch);
    EXPECT_EQ(found.terms, 1U) << batch;
    EXPECT_TRUE(found.expanded == accesses) << batch;
  }
}

TEST(NestFinder, a_period_far_longer_than_what_is_tried_at_every_access) {
  Accesses accesses;
  for (std::int64_t i = 0; i < 30; ++i) {
    for (std::int64_t k = 0; k < 200; ++k) accesses.push_back({i * 1000000 + k * k * 7, k % 9});
  }
  EXPECT_EQ(find(accesses, 1024, 4096).terms, 1U);
  EXPECT_TRUE(find(accesses, 1024, 4096).expanded == accesses);
}

TEST(NestFinder, tells_the_next_access_while_a_loop_is_open) {
  std::vector<std::uint64_t> memory(NestFinder::memory_bytes(64) / 8 + 1);
  NestFinder finder(std::as_writable_bytes(std::span(memory)), 64);
  Accesses accesses;
  for (std::int64_t i = 0; i < 9; ++i) {
    for (std::int64_t k = 0; k < 4; ++k) accesses.push_back({i * 1000 + k * k, k});
  }
  std::size_t right = 0;
  for (const Extent& access : accesses) {
    right += finder.open() && finder.expects(access) && finder.expected() == access ? 1 : 0;
    ASSERT_EQ(finder.add(&access, 1), 1U);
  }
  // Three iterations of four are what it takes to see the loop.
  EXPECT_EQ(right, accesses.size() - 12);
  EXPECT_EQ(finder.predicted(), right);
}

TEST(NestFinder, takes_a_loop_along_to_more_memory) {
  std::vector<std::uint64_t> small(NestFinder::memory_bytes(16) / 8 + 1);
  std::vector<std::uint64_t> large(NestFinder::memory_bytes(64) / 8 + 1);
  NestFinder first(std::as_writable_bytes(std::span(small)), 16);
  Accesses accesses;
  for (std::int64_t i = 0; i < 100; ++i) accesses.push_back({i * 8, 8});
  ASSERT_EQ(first.add(accesses.data(), 50), 50U);
  NestFinder second(std::as_writable_bytes(std::span(large)), 64);
  second.adopt(first);
  EXPECT_TRUE(second.expects(accesses[50]));
  ASSERT_EQ(second.add(accesses.data() + 50, 50), 50U);
  ASSERT_TRUE(second.finish());
  ASSERT_EQ(second.terms().size(), 1U);
  EXPECT_EQ(second.terms()[0].count, 100U);
}

// Few different values and strides, so that loops are found and broken everywhere.
Accesses drawn(std::mt19937_64& draw) {
  Accesses accesses;
  const std::size_t size = 20 + draw() % 3000;
  const auto kind = draw() % 4;
  const auto below = [&](std::uint64_t limit) { return static_cast<std::int64_t>(draw() % limit); };
  while (accesses.size() < size) {
    if (kind == 0) {
      accesses.push_back({below(4), 0});
    } else if (kind == 1) {
      accesses.push_back({static_cast<std::int64_t>(draw()), static_cast<std::int64_t>(draw())});
    } else {
      const std::int64_t rows = 1 + below(6), columns = 1 + below(9), stride = below(5);
      const std::int64_t row = kind == 2 ? below(100) : INT64_MAX / (1 + below(3));
      for (std::int64_t i = 0; i < rows * columns; ++i) {
        const auto place =
            static_cast<std::uint64_t>(i / columns) * static_cast<std::uint64_t>(row);
        accesses.push_back({sum(static_cast<std::int64_t>(place), i % columns * stride), i % 2});
      }
    }
  }
  return accesses;
}

TEST(NestFinder, loses_nothing_however_little_memory_it_has) {
  std::mt19937_64 draw(20261121);
  constexpr std::uint32_t kCapacities[] = {16, 17, 31, 64, 300, 1024};
  for (int round = 0; round < 600; ++round) {
    const Accesses accesses = drawn(draw);
    const std::uint32_t capacity = kCapacities[draw() % std::size(kCapacities)];
    const Found found = find(accesses, capacity, 1 + draw() % 500);
    ASSERT_TRUE(found.expanded == accesses) << "round " << round << ", capacity " << capacity;
  }
}

}  // namespace
}  // namespace iotune::patterns
