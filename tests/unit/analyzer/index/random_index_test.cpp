// Streams drawn at random against the model. A failure prints its seed; IOTUNE_SEED=n runs that
// one alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "model.h"

namespace iotune::analyzer {
namespace {

using testing::Batch;
using testing::built;
using testing::expect_same;
using testing::Extents;
using testing::Model;

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(end));
  }
  bool one_in(std::int64_t n) { return below(n) == 0; }

  // Loops with strides of any sign and zero, moved so that no offset is negative.
  Extents nest() {
    Extents all;
    const auto depth = static_cast<unsigned>(below(4));
    std::vector<std::int64_t> count(depth);
    std::vector<std::int64_t> stride(depth);
    std::vector<std::int64_t> longer(depth);
    for (unsigned k = 0; k < depth; ++k) {
      count[k] = below(6) + 2;
      stride[k] = one_in(6) ? 0 : below(one_in(2) ? 40 : 300) - (one_in(3) ? 150 : 0);
      longer[k] = one_in(8) ? below(5) : 0;
    }
    const auto parts = static_cast<std::size_t>(below(3) + 1);
    const Extents body = atoms(parts, 60);
    // Loops that move each access of the body differently: a header written again and again.
    const bool own = one_in(3);
    std::vector<std::int64_t> share(body.size(), 1);
    if (own) std::generate(share.begin(), share.end(), [&] { return below(4) - 1; });
    std::vector<std::int64_t> at(depth);
    while (true) {
      for (std::size_t part = 0; part < body.size(); ++part) {
        patterns::Extent access = body[part];
        for (unsigned k = 0; k < depth; ++k) {
          access.offset += at[k] * stride[k] * share[part];
          access.length += at[k] * longer[k] * (own ? static_cast<std::int64_t>(part) % 2 : 1);
        }
        all.push_back(access);
      }
      unsigned k = depth;
      while (k > 0 && ++at[k - 1] == count[k - 1]) at[--k] = 0;
      if (k == 0) break;
    }
    std::int64_t least = 0;
    for (const auto& access : all) least = std::min(least, access.offset);
    for (auto& access : all) access.offset -= least;
    return all;
  }

  Extents atoms(std::size_t n, std::int64_t within) {
    Extents all;
    for (std::size_t i = 0; i < n; ++i) all.push_back({below(within), one_in(9) ? 0 : below(12)});
    return all;
  }

  std::vector<std::int64_t> times(std::size_t n, std::int64_t& clock) {
    std::vector<std::int64_t> all;
    const std::int64_t step = below(4);
    for (std::size_t i = 0; i < n; ++i) all.push_back(clock += one_in(5) ? below(9) : step);
    return all;
  }

 private:
  std::mt19937_64 random_;
};

void move(Extents& accesses, std::int64_t by) {
  for (auto& access : accesses) access.offset += by;
}

// Several streams: nests of their own, one nest shared and shifted by rank, single accesses.
std::vector<Batch> drawn_batches(std::uint64_t seed) {
  Draw draw(seed);
  const std::int64_t streams = draw.below(9) + 1;
  std::vector<std::int64_t> clocks(static_cast<std::size_t>(streams), draw.below(20));
  const bool timed = !draw.one_in(3);
  std::vector<Batch> batches;
  for (std::int64_t round = draw.below(3); round >= 0; --round) {
    const Extents shared = draw.nest();
    const std::int64_t shift = draw.below(60);
    const std::int64_t region = draw.below(3000);
    const std::int64_t turn = draw.below(streams);
    for (std::int64_t i = 0; i < streams; ++i) {
      Batch batch{
          static_cast<std::uint32_t>(draw.one_in(2) ? i : (i * 5 + turn) % streams), {}, {}};
      const std::int64_t kind = draw.below(8);
      if (kind < 5) {
        batch.accesses = shared;
        move(batch.accesses, region + i * shift);
        if (draw.one_in(6)) batch.accesses.resize(batch.accesses.size() / 2);
      } else if (kind < 7) {
        batch.accesses = draw.nest();
        move(batch.accesses, draw.below(2000));
      } else {
        batch.accesses = draw.atoms(static_cast<std::size_t>(draw.below(30)), 2500);
      }
      if (timed) batch.times = draw.times(batch.accesses.size(), clocks[batch.stream]);
      if (!batch.accesses.empty()) batches.push_back(std::move(batch));
    }
  }
  return batches;
}

void add(IndexBuilder& builder, const Batch& batch) {
  const BatchTimes times = batch.times.empty() ? BatchTimes() : BatchTimes(std::span(batch.times));
  const auto wrong = builder.add(batch.stream, batch.accesses, times);
  ASSERT_FALSE(wrong) << wrong->text();
}

template <class Test>
void for_each_seed(std::uint64_t seeds, Test&& test) {
  if (const char* given = std::getenv("IOTUNE_SEED");
      given != nullptr) {  // NOLINT(concurrency-mt-unsafe)
    return test(std::strtoull(given, nullptr, 10));
  }
  for (std::uint64_t seed = 1; seed <= seeds && !::testing::Test::HasFatalFailure(); ++seed)
    test(seed);
}

TEST(RandomIndex, AnswersAsTheModel) {
  for_each_seed(500, [](std::uint64_t seed) {
    IndexBuilder builder;
    Model model;
    for (const Batch& batch : drawn_batches(seed)) {
      add(builder, batch);
      model.add(batch);
    }
    expect_same(built(builder), model, "seed " + std::to_string(seed));
  });
}

}  // namespace
}  // namespace iotune::analyzer
