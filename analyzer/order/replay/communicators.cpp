#include "analyzer/order/replay/communicators.h"

#include <algorithm>
#include <map>

namespace iotune::analyzer {

Members::Members(std::vector<std::uint32_t> processes) : processes_(std::move(processes)) {
  for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
    if (processes_[rank] != kAbsent) ranks_.emplace(processes_[rank], rank);
  }
}

std::vector<std::pair<std::int64_t, std::vector<std::size_t>>> split_by_colour(
    const std::vector<MemberColour>& by_rank) {
  std::map<std::int64_t, std::vector<std::size_t>> groups;
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    if (by_rank[rank].colour >= 0) groups[by_rank[rank].colour].push_back(rank);
  }
  std::vector<std::pair<std::int64_t, std::vector<std::size_t>>> result;
  for (auto& [colour, ranks] : groups) {
    std::stable_sort(ranks.begin(), ranks.end(),
                     [&](std::size_t a, std::size_t b) { return by_rank[a].key < by_rank[b].key; });
    result.emplace_back(colour, std::move(ranks));
  }
  return result;
}

}  // namespace iotune::analyzer
