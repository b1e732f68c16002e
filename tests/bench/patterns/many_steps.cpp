#include "tests/bench/patterns/many_steps.h"

#include <random>

namespace iotune::bench {
namespace {

using patterns::Extent;
using Random = std::mt19937_64;

std::int64_t drawn(Random& random, std::int64_t most) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
}

ManySteps loop_of(std::size_t steps, Random& random) {
  ManySteps found{.name = "loop of " + std::to_string(steps) + " steps", .unknown = steps + 1};
  std::vector<Extent> body(steps);
  for (Extent& one : body) one = {1 + drawn(random, 1 << 30), 512 * (1 + drawn(random, 8))};
  std::int64_t at = 0;
  for (int turn = 0; turn < 200; ++turn) {
    for (const Extent& one : body) {
      found.accesses.push_back({at, one.length});
      at += one.offset;
    }
  }
  return found;
}

ManySteps sequences(std::size_t count, std::size_t burst, Random& random) {
  ManySteps found{.name = std::to_string(count) + " sequences in turn", .unknown = 2 * count};
  if (burst > 1) {
    found.name = std::to_string(count) + " sequences in bursts of up to " + std::to_string(burst);
  }
  std::vector<std::int64_t> next(count), stride(count);
  std::vector<std::size_t> length(count);
  for (std::size_t i = 0; i < count; ++i) {
    next[i] = drawn(random, std::int64_t{1} << 40);
    stride[i] = 4096 * (1 + drawn(random, 1000));
    length[i] =
        burst > 1
            ? 2 + static_cast<std::size_t>(drawn(random, static_cast<std::int64_t>(burst - 1)))
            : 1;
  }
  while (found.accesses.size() < 20000) {
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t k = 0; k < length[i]; ++k, next[i] += stride[i]) {
        found.accesses.push_back({next[i], 4096});
      }
    }
  }
  return found;
}

ManySteps list_of(std::size_t places, int times, Random& random) {
  ManySteps found{.name = "list of " + std::to_string(places) + " places", .unknown = places + 1};
  std::vector<Extent> list(places);
  for (Extent& one : list) one = {4096 * drawn(random, 1 << 28), 4096};
  for (int turn = 0; turn < times; ++turn) {
    found.accesses.insert(found.accesses.end(), list.begin(), list.end());
  }
  return found;
}

}  // namespace

std::vector<ManySteps> many_steps(std::uint64_t seed) {
  Random random(seed);
  std::vector<ManySteps> found;
  for (const std::size_t steps : {5, 12, 24, 25, 50, 100, 300, 1000}) {
    found.push_back(loop_of(steps, random));
  }
  for (const std::size_t count : {4, 8, 16}) found.push_back(sequences(count, 1, random));
  for (const std::size_t count : {4, 8, 16}) found.push_back(sequences(count, 32, random));
  found.push_back(list_of(5000, 20, random));
  return found;
}

}  // namespace iotune::bench
