// What the notes of a trace say of the program's regions (include/iotune.h, recorder/regions).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/summary/run_summary.h"
#include "recorder/read/call.h"
#include "recorder/read/call_arguments.h"

namespace iotune::analyzer {

class AlikeRanks;

using RegionPath = std::vector<std::string>;

// Entries of one region, of one process or of all.
struct RegionRecord {
  std::uint64_t entered = 0, ended = 0;
  std::uint64_t ns = 0, io_ns = 0, least_ns = UINT64_MAX, largest_ns = 0;
  std::uint64_t calls = 0, read = 0, written = 0;
  std::uint64_t first_ns = UINT64_MAX, last_ns = 0;  // after the process's start; of all: Unix time
  // Of all processes:
  std::uint32_t processes = 0;
  std::uint64_t slowest_ns = 0, slowest_io_ns = 0;

  template <class A>
  void archive(A& a) {
    a(entered, ended, ns, io_ns, least_ns, largest_ns, calls, read, written, first_ns, last_ns,
      processes, slowest_ns, slowest_io_ns);
  }
};

using RegionTable = std::map<RegionPath, RegionRecord>;

// Of one process.
class RegionNotes {
 public:
  // Takes a call that notes a region down, in the order of each thread; false for any other call.
  // `alike`: other members made it too. `index`: the call's number then.
  bool follow(std::size_t index, const recorder::Call& call, bool alike);
  // What member `k` noted down instead.
  void move_as_member(AlikeRanks& ranks, std::size_t k);
  // The process is complete: adds it to `all` and begins anew. `wall_ns`: when it started.
  void finish(RegionTable& all, std::uint64_t wall_ns);

  template <class A>
  void archive(A& a) {
    a(names_, regions_);
  }

 private:
  struct Name {
    std::string text;
    std::int64_t parent = -1;
    template <class A>
    void archive(A& a) {
      a(text, parent);
    }
  };
  void take(const recorder::Call& call);
  RegionPath path_of(std::uint32_t thread, std::int64_t region) const;

  // By thread and the region's number there.
  std::map<std::pair<std::uint32_t, std::int64_t>, Name> names_;
  RegionTable regions_;
  std::vector<std::size_t> calls_;  // where other members made them too
  recorder::CallArguments arguments_;
};

// `run_start`: Unix time of the run's first call.
std::vector<RegionPattern> region_patterns(const RegionTable& all, std::uint64_t run_start);

}  // namespace iotune::analyzer
