#include "analyzer/bytes/index_sets.h"

#include <algorithm>

namespace iotune::analyzer {

void IndexSets::add(const IndexSet& set) {
  const std::uint64_t first = set.first();
  IndexSet shape = set.moved(first, 0);
  const std::uint64_t hash = shape.hash();
  auto [at, end] = by_hash_.equal_range(hash);
  while (at != end && !(shapes_[at->second] == shape)) ++at;
  if (at == end) {
    at = by_hash_.emplace(hash, static_cast<std::uint32_t>(shapes_.size()));
    shapes_.push_back(std::move(shape));
  }
  members_.push_back({first, at->second});
}

std::uint64_t IndexSets::least() const {
  std::uint64_t least = UINT64_MAX;
  for (const Member& member : members_) least = std::min(least, member.first);
  return least;
}

std::uint64_t IndexSets::end() const {
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < size(); ++i) last = std::max(last, end(i));
  return last;
}

std::uint64_t IndexSets::largest_size() const {
  std::uint64_t most = 0;
  for (const IndexSet& shape : shapes_) most = std::max(most, shape.size());
  return most;
}

std::vector<IndexSet> IndexSets::distinct() const {
  std::vector<Member> different = members_;
  std::sort(different.begin(), different.end());
  different.erase(std::unique(different.begin(), different.end()), different.end());
  std::vector<IndexSet> sets;
  sets.reserve(different.size());
  for (const Member& member : different) {
    sets.push_back(shapes_[member.shape].moved(0, member.first));
  }
  return sets;
}

}  // namespace iotune::analyzer
