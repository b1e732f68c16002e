#include "tests/generators/transforms.h"

#include <algorithm>
#include <iterator>

#include "tests/generators/drawing.h"

namespace iotune::generators {
namespace {

std::int64_t end_of_file(const Workload& of) {
  std::int64_t end = 1;
  for (const Stream& stream : of.streams) {
    for (const patterns::Extent& access : stream.accesses) {
      end = std::max(end, access.offset + access.length);
    }
  }
  return end;
}

}  // namespace

Workload with_noise(Workload of, double percent, std::uint64_t seed) {
  Drawing draw(seed);
  const std::int64_t end = end_of_file(of);
  for (Stream& stream : of.streams) {
    std::vector<patterns::Extent> noisy;
    noisy.reserve(stream.accesses.size() + stream.accesses.size() / 50);
    for (const patterns::Extent& access : stream.accesses) {
      if (draw.percent(percent)) {
        const std::int64_t offset = draw.between(0, end - 1);
        noisy.push_back({offset, draw.between(1, 64 << 10)});
      }
      noisy.push_back(access);
    }
    stream.accesses = std::move(noisy);
  }
  of.name += ", noise";
  of.basis += "; random accesses put in with a chance of " + std::to_string(percent) + " %";
  return of;
}

Workload interleaved(const Workload& of, std::size_t ways, std::size_t turn) {
  Workload made{of.name + ", interleaved",
                of.basis + "; " + std::to_string(ways) + " streams in turn as one",
                {}};
  for (std::size_t first = 0; first < of.streams.size(); first += ways) {
    const std::size_t last = std::min(first + ways, of.streams.size());
    Stream stream{of.streams[first].rank, {}};
    bool more = true;
    for (std::size_t done = 0; more; done += turn) {
      more = false;
      for (std::size_t s = first; s < last; ++s) {
        const auto& accesses = of.streams[s].accesses;
        for (std::size_t k = done; k < std::min(done + turn, accesses.size()); ++k) {
          stream.accesses.push_back(accesses[k]);
        }
        more = more || done + turn < accesses.size();
      }
    }
    made.streams.push_back(std::move(stream));
  }
  return made;
}

Workload interleaved_at_random(const Workload& of, std::size_t ways, std::uint64_t seed) {
  Drawing draw(seed);
  Workload made{of.name + ", interleaved at random",
                of.basis + "; " + std::to_string(ways) + " streams as one, the next one drawn",
                {}};
  for (std::size_t first = 0; first < of.streams.size(); first += ways) {
    const std::size_t last = std::min(first + ways, of.streams.size());
    Stream stream{of.streams[first].rank, {}};
    std::vector<std::size_t> done(last - first, 0);
    std::vector<std::size_t> unfinished;
    for (std::size_t s = first; s < last; ++s) {
      if (!of.streams[s].accesses.empty()) unfinished.push_back(s);
    }
    while (!unfinished.empty()) {
      const auto drawn = static_cast<std::size_t>(
          draw.between(0, static_cast<std::int64_t>(unfinished.size()) - 1));
      const std::size_t s = unfinished[drawn];
      stream.accesses.push_back(of.streams[s].accesses[done[s - first]++]);
      if (done[s - first] == of.streams[s].accesses.size()) {
        unfinished.erase(std::next(unfinished.begin(), static_cast<std::ptrdiff_t>(drawn)));
      }
    }
    made.streams.push_back(std::move(stream));
  }
  return made;
}

Workload random_accesses(const Random& of) {
  Drawing draw(of.seed);
  Workload made{"random", "Our choice: offsets and lengths uniform and independent", {}};
  for (std::uint32_t rank = 0; rank < of.ranks; ++rank) {
    Stream stream{rank, {}};
    for (std::int64_t k = 0; k < of.accesses; ++k) {
      const std::int64_t offset = draw.between(0, of.file_bytes - 1);
      stream.accesses.push_back({offset, draw.between(1, of.length_limit_bytes)});
    }
    made.streams.push_back(std::move(stream));
  }
  return made;
}

}  // namespace iotune::generators
