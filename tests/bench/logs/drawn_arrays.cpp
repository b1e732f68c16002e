// drawn_arrays SEED FILES [FILE]: draws files of several arrays and says how many of the arrays are
// named, and how. With FILE that one alone, with its faults.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "tests/generators/judge_arrays.h"

int main(int count, char** words) {
  using namespace iotune::testing;
  if (count < 3) return 2;
  const auto seed = std::strtoull(words[1], nullptr, 10);
  const auto files = std::strtoull(words[2], nullptr, 10);
  const bool one = count > 3;
  const auto only = one ? std::strtoull(words[3], nullptr, 10) : 0;
  Judgement sum;
  for (unsigned long long i = one ? only : 0; i < (one ? only + 1 : files); ++i) {
    std::mt19937_64 random(seed * 1000003 + i);
    const DrawnFile file = drawn_file(random);
    const Judgement found = judge(file);
    sum.arrays += found.arrays;
    sum.right += found.right;
    sum.joined += found.joined;
    sum.divided += found.divided;
    sum.irregular += found.irregular;
    sum.other += found.other;
    sum.wrong += found.wrong;
    if (found.faults.empty()) continue;
    std::printf("file %llu: %u ranks, %zu arrays, %zu right, %zu wrong\n", i, file.ranks,
                found.arrays, found.right, found.wrong);
    if (!one) continue;
    for (const std::string& array : found.drawn) std::printf("  drawn %s\n", array.c_str());
    for (const std::string& array : found.found) std::printf("  found %s\n", array.c_str());
    for (const std::string& fault : found.faults) std::printf("  %s\n", fault.c_str());
  }
  std::printf(
      "{\"seed\": %llu, \"files\": %llu, \"arrays\": %zu, \"right\": %zu, \"joined\": %zu, "
      "\"divided\": %zu, \"irregular\": %zu, \"other\": %zu, \"wrong\": %zu}\n",
      seed, files, sum.arrays, sum.right, sum.joined, sum.divided, sum.irregular, sum.other,
      sum.wrong);
}
