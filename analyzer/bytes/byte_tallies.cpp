#include "analyzer/bytes/byte_tallies.h"

#include <algorithm>

#include "analyzer/summary/saturating.h"

namespace iotune::analyzer {
namespace {

constexpr std::size_t kMostWhileWalking = 4096;

Tally joined(const Tally& a, const Tally& b) {
  Tally sum = a;
  const std::uint64_t begin = std::min(a.place.start, b.place.start);
  sum.place = {begin, 0, 1, std::max(a.place.end(), b.place.end()) - begin};
  sum.bytes = saturating_sum(a.bytes, b.bytes);
  sum.calls = saturating_sum(a.calls, b.calls);
  sum.nanoseconds = saturating_sum(a.nanoseconds, b.nanoseconds);
  return sum;
}

std::uint64_t part_of(std::uint64_t whole, std::uint64_t part, std::uint64_t all) {
  if (whole == UINT64_MAX || part == all) return whole;
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(whole) * part / all);
}

class Division {
 public:
  Division(const std::vector<ByteRange>& ranges, std::size_t owners)
      : ranges_(ranges), owned_(owners) {}

  void add(const Tally& tally) {
    const Progression& place = tally.place;
    auto at = std::upper_bound(
        ranges_.begin(), ranges_.end(), place.start,
        [](std::uint64_t value, const ByteRange& range) { return value < range.end; });
    if (at == ranges_.end() || at->begin >= place.end()) return;
    if (place.end() <= at->end) {
      give(at->owner, tally, 1, 1);
      return;
    }
    if (place.count == 1) {
      add_hull(tally, at);
      return;
    }
    // Each transfer belongs to the range that it begins in.
    for (; at != ranges_.end() && at->begin < place.end(); ++at) {
      const auto before = [&](std::uint64_t offset) {
        return offset <= place.start
                   ? 0
                   : std::min(place.count, (offset - place.start - 1) / place.stride + 1);
      };
      give(at->owner, tally, before(at->end) - before(at->begin), place.count);
    }
  }

  std::vector<OwnedTally> take() { return std::move(owned_); }

 private:
  // A transfer is counted by each range that it touches, its bytes and its time by their bytes.
  void add_hull(const Tally& tally, std::vector<ByteRange>::const_iterator at) {
    const auto overlap = [&](const ByteRange& range) {
      return std::min(range.end, tally.place.end()) - std::max(range.begin, tally.place.start);
    };
    std::uint64_t all = 0;
    const auto first = at;
    for (; at != ranges_.end() && at->begin < tally.place.end(); ++at) all += overlap(*at);
    for (auto one = first; one != at; ++one) give(one->owner, tally, overlap(*one), all);
  }

  void give(std::uint32_t owner, const Tally& tally, std::uint64_t part, std::uint64_t all) {
    if (part == 0) return;
    OwnedTally& to = owned_[owner];
    Tally share = tally;
    share.bytes = part_of(tally.bytes, part, all);
    share.calls = std::max<std::uint64_t>(tally.calls > 0 ? 1 : 0, part_of(tally.calls, part, all));
    share.nanoseconds = part_of(tally.nanoseconds, part, all);
    to.add(share);
  }

  const std::vector<ByteRange>& ranges_;
  std::vector<OwnedTally> owned_;
};

}  // namespace

void OwnedTally::add(const Tally& more) {
  bytes = saturating_sum(bytes, more.bytes);
  calls = saturating_sum(calls, more.calls);
  nanoseconds = saturating_sum(nanoseconds, more.nanoseconds);
  (more.collective ? collective : independent) = true;
  through_mpi = through_mpi || more.through_mpi;
}

void ByteTallies::add(const Tally& tally) {
  if (!tallies_.empty()) {
    Tally& last = tallies_.back();
    const bool alike = last.collective == tally.collective && last.through_mpi == tally.through_mpi;
    const bool single = last.place.count == 1 && tally.place.count == 1;
    // The next piece of a long transfer, which are of one length; and the same again.
    const bool goes_on =
        tally.place.start == last.place.end() && last.place.block == last.calls * tally.place.block;
    const bool again = tally.place == last.place;
    if (alike && single && (goes_on || again)) {
      last = joined(last, tally);
      return;
    }
  }
  tallies_.push_back(tally);
  if (tallies_.size() >= 2 * kMostWhileWalking) coarsen(kMostWhileWalking);
}

void ByteTallies::coarsen(std::size_t most) {
  if (tallies_.size() <= most) return;
  const auto key = [](const Tally& t) { return 2 * t.collective + t.through_mpi; };
  std::sort(tallies_.begin(), tallies_.end(), [&](const Tally& a, const Tally& b) {
    return key(a) != key(b) ? key(a) < key(b) : a.place.start < b.place.start;
  });
  // The same places again cost nothing; then neighbours, two by two.
  const auto join_if = [&](const auto& may) {
    std::size_t kept = 0;
    for (std::size_t i = 1; i < tallies_.size(); ++i) {
      if (key(tallies_[kept]) == key(tallies_[i]) && may(tallies_[kept], tallies_[i], i)) {
        const bool same = tallies_[kept].place == tallies_[i].place;
        const Progression place = tallies_[kept].place;
        tallies_[kept] = joined(tallies_[kept], tallies_[i]);
        if (same) tallies_[kept].place = place;
      } else {
        tallies_[++kept] = tallies_[i];
      }
    }
    tallies_.resize(kept + 1);
  };
  join_if([](const Tally& a, const Tally& b, std::size_t) { return a.place == b.place; });
  while (tallies_.size() > std::max<std::size_t>(most, 4)) {
    const std::size_t before = tallies_.size();
    join_if([](const Tally&, const Tally&, std::size_t i) { return i % 2 == 1; });
    if (tallies_.size() == before) break;
  }
}

std::vector<OwnedTally> divide(const std::vector<Tally>& tallies,
                               const std::vector<ByteRange>& ranges, std::size_t owners) {
  Division division(ranges, owners);
  for (const Tally& tally : tallies) division.add(tally);
  return division.take();
}

}  // namespace iotune::analyzer
