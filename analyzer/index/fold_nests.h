// Nests of many streams as fewer: those of one shape whose starts form an arithmetic progression
// become one with a loop more. Which stream an iteration belongs to stands in a table of streams,
// so that ranks may come in any order.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "analyzer/index/nest.h"

namespace iotune::analyzer {

// Numbers of streams by slot. Nests name slots and steps between slots.
class SlotTable {
 public:
  std::int64_t slot_of(std::uint32_t stream);
  // A run of slots with these streams: an equal run that is there already, or a new one.
  std::int64_t slots_of(const std::vector<std::uint32_t>& streams);

  std::uint32_t operator[](std::int64_t slot) const {
    return streams_[static_cast<std::size_t>(slot)];
  }
  std::int64_t size() const { return static_cast<std::int64_t>(streams_.size()); }
  const std::vector<std::uint32_t>& streams() const { return streams_; }

  // Leaves only what these nests use, and renumbers their slots.
  void compact(std::vector<Nest>& nests);

 private:
  std::vector<std::uint32_t> streams_;
  std::map<std::uint32_t, std::int64_t> alone_;
  std::map<std::vector<std::uint32_t>, std::int64_t> runs_;
};

// Appends two or more nests of one shape, whose starts, positions and places in the log are in even
// steps, as one nest. False, with nothing done, where accesses would overlap. All must be normal.
bool fold_run(std::span<const Nest> run, SlotTable& slots, std::vector<Nest>& to);

// Folds until nothing more fits. All nests must be normal, and are so afterwards.
void fold_nests(std::vector<Nest>& nests, SlotTable& slots);

}  // namespace iotune::analyzer
