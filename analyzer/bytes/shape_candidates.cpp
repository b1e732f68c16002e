#include "analyzer/bytes/shape_candidates.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace iotune::analyzer {
namespace {

constexpr std::size_t kSampledRanks = 64, kSampledPieces = 512, kSampledStarts = 512;
constexpr std::size_t kMostStrides = 24, kMostStarts = 32;

// Distances that a set repeats itself at.
void add_distances(const IndexSet& set, std::set<std::uint64_t>& distances) {
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>, std::uint64_t> last;
  std::size_t seen = 0;
  for (const Progression& p : set.progressions()) {
    if (++seen > kSampledPieces) break;
    if (p.count > 1) distances.insert(p.stride);
    // The same piece further on: its first place is the one before.
    auto [found, fresh] = last.try_emplace({p.stride, p.count, p.block}, p.start);
    if (!fresh) {
      distances.insert(p.start - found->second);
      found->second = p.start;
    }
  }
}

}  // namespace

std::vector<std::uint64_t> row_candidates(const IndexSets& ranks) {
  std::set<std::uint64_t> strides, firsts;
  const std::size_t step = std::max<std::size_t>(1, ranks.size() / kSampledRanks);
  for (std::size_t i = 0; i < ranks.size(); i += step) add_distances(ranks.shape(i), strides);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    firsts.insert(ranks.first(i));
    if (firsts.size() > kSampledStarts) firsts.erase(std::prev(firsts.end()));
  }
  const std::uint64_t end = ranks.end();
  const auto possible = [&](std::uint64_t width) { return width > 1 && width < end; };
  std::vector<std::uint64_t> candidates;
  for (const std::uint64_t stride : strides) {
    if (candidates.size() < kMostStrides && possible(stride)) candidates.push_back(stride);
  }
  // Where each rank has one row at a time only the ranks' beginnings tell how long it is.
  std::size_t starts = 0;
  for (const std::uint64_t first : firsts) {
    if (starts == kMostStarts) break;
    if (!possible(first) || strides.contains(first)) continue;
    candidates.push_back(first);
    ++starts;
  }
  return candidates;
}

}  // namespace iotune::analyzer
