#include "analyzer/arrays/filled_bytes.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

namespace iotune::analyzer {
namespace {

// More are none of arrays.
constexpr std::size_t kMostFills = 64;
constexpr std::size_t kMostCompared = std::size_t{1} << 24U;  // pieces, each with all that follow
constexpr std::uint64_t kLeastFillBytes = 64;
constexpr std::uint64_t kMostRunsOfFill = 4096;  // of ranks, in one fill

bool by_start(const Progression& a, const Progression& b) {
  return a.start < b.start;
}

std::optional<IndexSet> joined(std::vector<Progression> pieces) {
  std::sort(pieces.begin(), pieces.end(), by_start);
  return IndexSet::of_pieces(pieces);
}

// Some piece goes over a part of the run and is not just the same again.
bool is_moved_again(const Progression& run, std::span<const Progression> later) {
  return std::any_of(later.begin(), later.end(), [&](const Progression& piece) {
    return piece.start < run.start + run.block && piece.end() > run.start && !(piece == run);
  });
}

// Adds what `again` leaves of the run, or all of it where that is too many pieces. False: all.
bool add_rest(const Progression& run, const IndexSet& again, std::vector<Progression>& to) {
  const std::uint64_t end = run.start + run.block;
  const IndexSet moved = again.within(run.start, end);
  if (moved.empty() || moved.runs() > kMostRunsOfFill) {
    to.push_back(run);
    return false;
  }
  std::vector<Progression> runs;
  for (const Progression& p : moved.progressions()) {
    for (std::uint64_t i = 0; i < p.count; ++i) {
      runs.push_back({p.start + i * p.stride, 0, 1, p.block});
    }
  }
  std::sort(runs.begin(), runs.end(), by_start);
  std::uint64_t at = run.start;
  for (const Progression& one : runs) {
    if (one.start > at) to.push_back({at, 0, 1, one.start - at});
    at = one.end();
  }
  if (at < end) to.push_back({at, 0, 1, end - at});
  return true;
}

}  // namespace

std::optional<FilledBytes> filled_bytes(std::vector<Progression> by_time,
                                        const std::vector<std::uint64_t>& cuts) {
  FilledBytes found;
  std::vector<Progression> rest;
  std::size_t compared = 0;
  const auto later = [&](std::size_t i) {
    return std::span<const Progression>(by_time).subspan(i + 1);
  };
  for (std::size_t i = 0; i < by_time.size(); ++i) {
    const Progression& piece = by_time[i];
    compared += piece.count * (by_time.size() - i);
    if (compared > kMostCompared || piece.count > kMostFills || piece.block < kLeastFillBytes) {
      rest.push_back(piece);
      continue;
    }
    for (std::uint64_t k = 0; k < piece.count; ++k) {
      // Fills of arrays one behind the other are one run.
      Progression run{piece.start + k * piece.stride, 0, 1, 0};
      const std::uint64_t end = run.start + piece.block;
      auto cut = std::upper_bound(cuts.begin(), cuts.end(), run.start);
      while (run.start < end) {
        const std::uint64_t next = cut != cuts.end() && *cut < end ? *cut++ : end;
        run.block = next - run.start;
        const bool is_fill = found.fills.size() < kMostFills && is_moved_again(run, later(i));
        (is_fill ? found.fills : rest).push_back(run);
        run.start = next;
      }
    }
  }
  std::optional<IndexSet> set = joined(std::move(rest));
  if (found.fills.empty() || !set) return std::nullopt;
  found.rest = std::move(*set);
  return found;
}

std::optional<UnfilledSets> without_fills(const IndexSets& ranks,
                                          const std::vector<FilledBytes>& filled) {
  std::map<std::size_t, const FilledBytes*> of_rank;
  for (const FilledBytes& one : filled) of_rank.emplace(one.rank, &one);
  std::vector<IndexSet> sets;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const auto found = of_rank.find(r);
    sets.push_back(found == of_rank.end() ? ranks.at(r) : found->second->rest);
  }
  std::vector<const IndexSet*> pointers;
  for (const IndexSet& set : sets) pointers.push_back(&set);
  const std::optional<IndexSet> again = IndexSet::united(std::move(pointers));
  if (!again) return std::nullopt;
  UnfilledSets result;
  for (const auto& [rank, one] : of_rank) {
    const std::span<const Progression> own = one->rest.progressions();
    std::vector<Progression> kept(own.begin(), own.end());
    for (const Progression& fill : one->fills) {
      if (add_rest(fill, *again, kept)) result.fills.push_back(fill);
    }
    const std::optional<IndexSet> set = joined(std::move(kept));
    if (!set) return std::nullopt;
    sets[rank] = *set;
  }
  if (result.fills.empty()) return std::nullopt;
  for (const IndexSet& set : sets) {
    if (!set.empty()) result.sets.add(set);
  }
  return result;
}

}  // namespace iotune::analyzer
