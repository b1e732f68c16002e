#include "tests/bench/logstore/simulated_run.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace iotune::bench {

RankTimes::RankTimes(const SimulatedRun& run, std::uint32_t rank) noexcept
    : draw_(run.seed * 0x9E3779B97F4A7C15U + rank),
      now_(1'700'000'000'000'000'000),
      uneven_(run.pace == Pace::uneven) {
  now_ += draw_.between(0, 100'000'000);  // ranks start within 0.1 s
}

std::vector<std::string> writer_names(const SimulatedRun& run) {
  constexpr std::uint32_t kRanksOnNode = 16;
  generators::Drawing draw(run.seed);
  std::vector<std::uint32_t> nodes(9000);
  std::iota(nodes.begin(), nodes.end(), 1000U);
  for (std::size_t i = nodes.size() - 1; i > 0; --i) {
    std::swap(nodes[i], nodes[static_cast<std::size_t>(draw.between(0, static_cast<int>(i)))]);
  }
  std::vector<std::string> names;
  std::int64_t pid = 0;
  for (std::uint32_t rank = 0; rank < run.ranks; ++rank) {
    if (rank % kRanksOnNode == 0) pid = draw.between(1000, 60000);
    pid += draw.between(1, 3);
    std::string node = std::to_string(nodes[rank / kRanksOnNode]);
    names.push_back("nid0" + node + "." + std::to_string(pid) + ".0");
  }
  return names;
}

std::vector<std::uint32_t> writer_numbers(const std::vector<std::string>& names) {
  std::vector<std::uint32_t> by_name(names.size());
  std::iota(by_name.begin(), by_name.end(), 0U);
  std::ranges::sort(by_name, {}, [&](std::uint32_t rank) { return names[rank]; });
  std::vector<std::uint32_t> numbers(names.size());
  for (std::uint32_t place = 0; place < by_name.size(); ++place) numbers[by_name[place]] = place;
  return numbers;
}

}  // namespace iotune::bench
