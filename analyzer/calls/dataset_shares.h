// What one process moved of each dataset by its transfers, and the time that took: theirs, and of
// the calls that wrote out what they had left in HDF5's buffers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "analyzer/calls/call_facts.h"
#include "analyzer/calls/late_bytes.h"
#include "analyzer/datasets/dataset_versions.h"
#include "analyzer/datasets/region.h"
#include "analyzer/summary/alike_ranks.h"
#include "analyzer/summary/file_table.h"
#include "recorder/read/call_arguments.h"

namespace iotune::analyzer {

class DatasetShares {
 public:
  using Definitions = std::unordered_map<std::int64_t, DatasetDefinition>;

  // `alike`: other members made the same transfers, of other places.
  DatasetShares(DatasetVersions& versions, bool alike) : versions_(versions), alike_(alike) {}

  // What is known of datasets so far; it must stay where it is.
  void know(const Definitions& definitions) { definitions_ = &definitions; }
  // nullptr: nobody said what it is.
  const DatasetDefinition* definition(std::int64_t object) const;

  // A call on several datasets is one transfer: its time is divided by the bytes of each.
  void transfer(FileRecord& file, std::size_t index, const recorder::Call& call,
                const recorder::CallArguments& arguments, bool write);
  // A write that HDF5 made itself: within its calls, or outside of all that are recorded.
  void moved_below(FileRecord& file, const recorder::Call& call);
  void moved_below(std::uint32_t thread, std::uint64_t bytes) { late_.moved_below(thread, bytes); }
  std::uint64_t take_below(std::uint32_t thread) { return late_.take_below(thread); }

  // `calls` equal transfers, each `steps` (of its hyperslab's start) further than the one before.
  struct Moves {
    std::uint64_t calls = 1;
    std::span<const std::int64_t> steps;
  };
  // What transfers of one dataset are whose numbers grow by `steps`; nothing where it is more than
  // that.
  std::optional<Moves> moves_of(const recorder::Call& first, std::span<const std::int64_t> steps,
                                std::uint64_t calls);
  // Bytes in memory of so many transfers like the first.
  double bytes_of(const recorder::Call& first, std::uint64_t calls);
  // Transfers of one dataset; `below` bytes of them went on to the file.
  void transfer_all(FileRecord& file, const recorder::Call& first, const Moves& moves, bool write,
                    std::uint64_t nanoseconds, double below);
  // A call of HDF5 that may write what transfers left in its buffers.
  void settle(FileRecord& file, const recorder::Call& call, const CallFacts& facts);

  // What another member moved instead.
  void move_as_member(AlikeRanks& ranks, std::size_t k);
  void finish_member(std::uint64_t wall_ns);

  template <class A>
  void archive(A& a) {
    a(late_, shares_);
  }

 private:
  struct Share {
    explicit Share(std::size_t dimensions) : region(dimensions) {}
    Region region;
    std::uint64_t nanoseconds = 0, calls = 0;
    // What one process's transfers moved of each element, in their own memory types (one field of a
    // compound), and how many elements.
    double memory_bytes = 0, points = 0;
    recorder::ActualCounts actual;
    std::uint64_t first_ns = UINT64_MAX;  // after the process's start
    FileRecord* file = nullptr;
    bool write = false;
    std::uint64_t bytes(std::uint64_t element_bytes) const;
    template <class A>
    void archive(A& a) {
      a(region, nanoseconds, calls, memory_bytes, points, actual.modes, actual.causes, first_ns,
        file, write);
    }
  };
  // One dataset of one call, as the other members made it too.
  struct Transfer {
    DatasetRecord* record = nullptr;
    std::size_t call = 0, place = 0;
    bool scalar = false;
  };

  DatasetRecord* dataset_transfer(FileRecord& file, const recorder::Call& call, Transfer transfer,
                                  const recorder::TransferExtras& extras, bool write,
                                  std::uint64_t nanoseconds, const Moves& moves);
  void add_to(DatasetRecord& dataset, const recorder::TransferExtras& extras, bool scalar,
              const Moves& moves);
  void add_late(const std::vector<LateBytes::Part>& parts);

  DatasetVersions& versions_;
  bool alike_;
  const Definitions* definitions_ = nullptr;
  LateBytes late_;
  recorder::CallArguments arguments_;
  std::map<DatasetRecord*, Share> shares_;
  std::vector<Transfer> transfers_;  // where other members made them too
};

}  // namespace iotune::analyzer
