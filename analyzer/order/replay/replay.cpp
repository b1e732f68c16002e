#include "analyzer/order/replay/replay.h"

#include <algorithm>
#include <map>
#include <string>

#include "analyzer/order/models/order_table.h"
#include "analyzer/order/replay/process_line.h"

namespace iotune::analyzer {
namespace {

// Events of a process before the next one has its turn: how far processes may run ahead of each
// other bounds the messages under way.
constexpr int kTurn = 256;

std::vector<std::uint64_t> with_entries(std::vector<std::uint64_t> segments,
                                        const std::vector<std::uint64_t>& entries) {
  segments.insert(segments.end(), entries.begin(), entries.end());
  std::sort(segments.begin(), segments.end());
  segments.erase(std::unique(segments.begin(), segments.end()), segments.end());
  return segments;
}

}  // namespace

HappensBefore replay(const std::vector<std::unique_ptr<OrderEventSource>>& processes,
                     ReplayWish wish) {
  HappensBefore result(processes.size(), wish.file_events);
  wish.segments.resize(processes.size());
  // Sessions begin in the segment before the open, or where its ranks have met.
  std::vector<std::vector<std::uint64_t>> entries(processes.size());
  for (const FileEvent& event : wish.file_events) {
    if ((event.roles & (kOpensSession | kMpiSyncsIn)) != 0) {
      entries[event.process].push_back(event.number);
      if ((event.roles & kMeetsFirst) != 0) entries[event.process].push_back(event.number + 1);
    }
  }
  ReplayState state(result, processes.size());
  std::map<std::uint32_t, std::vector<std::uint32_t>> worlds;
  for (std::uint32_t p = 0; p < processes.size(); ++p) {
    const OrderPlace place = processes[p]->place();
    state.names[p] =
        place.rank < 0 ? "process " + std::to_string(p) : "rank " + std::to_string(place.rank);
    if (place.rank < 0) continue;
    std::vector<std::uint32_t>& ranks = worlds[place.world];
    const auto size = static_cast<std::size_t>(std::max(place.world_size, place.rank + 1));
    if (ranks.size() < size) ranks.resize(size, Members::kAbsent);
    ranks[static_cast<std::size_t>(place.rank)] = p;
  }
  std::map<std::uint32_t, CommId> world_comms;
  for (auto& [world, ranks] : worlds) {
    world_comms[world] = state.collectives.add(std::make_shared<Members>(ranks));
    const auto absent =
        static_cast<std::size_t>(std::count(ranks.begin(), ranks.end(), Members::kAbsent));
    if (absent != 0) {
      const auto first = std::find_if(ranks.begin(), ranks.end(),
                                      [](std::uint32_t p) { return p != Members::kAbsent; });
      result.add_unknown("of " + std::to_string(ranks.size()) + " ranks " + std::to_string(absent) +
                             " have no record",
                         *first, 0);
    }
  }
  std::vector<ProcessLine> lines;
  lines.reserve(processes.size());
  for (std::uint32_t p = 0; p < processes.size(); ++p) {
    const OrderPlace place = processes[p]->place();
    const CommId world = place.rank < 0 ? kUnknownComm : world_comms[place.world];
    lines.emplace_back(state, *processes[p], p, world,
                       with_entries(std::move(wish.segments[p]), entries[p]));
  }

  for (bool all_ended = false; !all_ended;) {
    bool moved = false;
    all_ended = true;
    for (ProcessLine& line : lines) {
      moved |= line.go_on(kTurn);
      all_ended &= line.ended();
    }
    if (moved || all_ended) continue;
    // Those that wait for what can never come go on without that order; where all wait for each
    // other, one does.
    bool released = false;
    for (ProcessLine& line : lines) {
      if (!line.ended()) released |= line.release_from_ended();
    }
    const auto stuck = std::find_if(lines.begin(), lines.end(),
                                    [](const ProcessLine& line) { return !line.ended(); });
    if (!released) stuck->release();
  }
  return result;
}

}  // namespace iotune::analyzer
