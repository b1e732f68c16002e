// Nests of loops drawn at random: whatever is found in them must come back. A
// failure prints its seed; IOTUNE_SEED=n runs that one alone.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "round_trip.h"

namespace iotune::patterns {
namespace {

using testing::expect_round_trip;
using testing::Values;

class Nest {
 public:
  Nest(std::uint64_t seed, bool own_strides) : random_(seed), own_strides_(own_strides) {
    dims_ = static_cast<unsigned>(below(5) + 1);
    const unsigned depth = static_cast<unsigned>(below(5) + 1);
    std::vector<std::uint64_t> zero(dims_, 0);
    body(depth, zero, {});
  }

  unsigned dims() const { return dims_; }
  const Values& values() const { return values_; }

 private:
  using Vector = std::vector<std::uint64_t>;
  struct Loop {
    Vector stride;
    std::uint64_t iteration;
  };

  std::uint64_t below(std::uint64_t end) { return random_() % end; }

  // Drawn from (seed, path) and not in sequence, so that every iteration of a
  // loop draws the same vectors.
  Vector vector(std::uint64_t path) {
    std::mt19937_64 random(seed_ ^ path * 0x9e3779b97f4a7c15U);
    Vector v(dims_);
    for (std::uint64_t& x : v) {
      switch (random() % 6) {
        case 0:
          x = random();  // wraps
          break;
        case 1:
          x = 0U - random() % 5000;
          break;
        case 2:
        case 3:
          x = 0;
          break;
        default:
          x = random() % 100000;
      }
    }
    return v;
  }

  void body(unsigned depth, const Vector& base, const std::vector<Loop>& around,
            std::uint64_t path = 1) {
    std::mt19937_64 random(seed_ + path * 31);
    const std::uint64_t parts = random() % 3 + 1;
    for (std::uint64_t part = 0; part < parts && values_.size() < 12000; ++part) {
      const std::uint64_t here = path * 8 + part + 1;
      Vector start = base;
      add(start, vector(here), 1);
      if (depth == 0 || random() % 4 == 0) {
        atom(start, around, here);
        continue;
      }
      const std::uint64_t count = random() % 7 + 1;
      const Vector stride = vector(here + 1000000);
      for (std::uint64_t k = 0; k < count; ++k) {
        Vector moved = start;
        std::vector<Loop> inner = around;
        if (own_strides_) {
          inner.push_back({stride, k});
        } else {
          add(moved, stride, k);
        }
        body(depth - 1, moved, inner, here);
      }
    }
  }

  void atom(Vector at, const std::vector<Loop>& around, std::uint64_t path) {
    for (std::size_t k = 0; k < around.size(); ++k) {
      add(at, path % 3 == 0 ? vector(path * 77 + k) : around[k].stride, around[k].iteration);
    }
    for (const std::uint64_t x : at) values_.push_back(static_cast<std::int64_t>(x));
  }

  static void add(Vector& to, const Vector& what, std::uint64_t times) {
    for (std::size_t j = 0; j < to.size(); ++j) to[j] += what[j] * times;
  }

  std::mt19937_64 random_;
  std::uint64_t seed_ = random_();
  bool own_strides_;
  unsigned dims_ = 0;
  Values values_;
};

TEST(RandomNests, come_back) {
  std::uint64_t first = 0;
  std::uint64_t last = 300;
  if (const char* seed = std::getenv("IOTUNE_SEED")) {
    first = std::strtoull(seed, nullptr, 10);
    last = first + 1;
  }
  std::size_t tuples = 0;
  std::size_t bytes = 0;
  for (std::uint64_t seed = first; seed < last; ++seed) {
    SCOPED_TRACE("IOTUNE_SEED=" + std::to_string(seed));
    const Nest nest(seed, seed % 2 == 1);
    if (nest.values().empty()) continue;
    tuples += nest.values().size() / nest.dims();
    bytes += expect_round_trip(nest.values(), nest.dims(), {static_cast<unsigned>(seed % 70 + 1)});
    if (HasFailure()) return;
  }
  RecordProperty("tuples", static_cast<int>(tuples));
  RecordProperty("bytes", static_cast<int>(bytes));
  EXPECT_GT(tuples, 400U);
}

// Values from a few: many accidental loops, many bodies, many that are cut short.
TEST(RandomNests, small_alphabets_come_back) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const unsigned dims = static_cast<unsigned>(random() % 3 + 1);
    const std::uint64_t letters = random() % 4 + 2;
    Values values;
    while (values.size() < 900) {
      Values block;
      const std::uint64_t size = (random() % 12 + 1) * dims;
      for (std::uint64_t i = 0; i < size; ++i) {
        block.push_back(static_cast<std::int64_t>(random() % letters));
      }
      const std::uint64_t repeats = random() % 6 + 1;
      for (std::uint64_t r = 0; r < repeats; ++r) {
        values.insert(values.end(), block.begin(), block.end());
      }
    }
    values.resize(values.size() / dims * dims);
    expect_round_trip(values, dims, {64});
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace iotune::patterns
