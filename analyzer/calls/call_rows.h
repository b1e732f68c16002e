// The calls of a whole trace, one after the other, with their file and dataset.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/calls/call_owners.h"
#include "analyzer/calls/mpi_accesses.h"
#include "recorder/read/call_filter.h"
#include "recorder/read/call_walk.h"
#include "recorder/read/result.h"
#include "recorder/read/trace_reader.h"

namespace iotune::analyzer {

// Valid until the next row is asked for.
struct CallRow {
  std::size_t process;  // index into the trace's processes
  std::int64_t rank;    // -1: not a rank of MPI_COMM_WORLD
  const recorder::Call* call;
  std::uint64_t start_ns;                        // after the run's first call
  std::int32_t file;                             // index into files() or -1
  std::int32_t dataset;                          // index into datasets() or -1
  std::string_view where;                        // of a transfer of MPI-IO: extents_text
  std::optional<std::int64_t> mpi_offset_bytes;  // of one whose bytes lie in one piece
  bool inner;                                    // a library's own (OwnerFollower::is_inner)
  const OwnerFollower* owners;  // of the process: what is known of its datasets by now
};

// Reads the calls that a filter wants, in the order of their starts: each call before those that
// were made inside it. What is not wanted is decoded only where something else depends on it:
// not at all the ranks that are left out and what starts after the time asked for. Memory as
// for recorder::ProcessWalk, of each rank.
class CallRows {
 public:
  static recorder::Result<std::unique_ptr<CallRows>> open(const std::string& path,
                                                          recorder::CallFilter filter);

  bool next(CallRow& row);

  // Names met so far; they grow at the end only.
  const std::vector<std::string>& files() const { return files_.names; }
  const std::vector<std::string>& datasets() const { return datasets_.names; }

  // Unix time of the run's first call, of all ranks, wanted or not.
  std::uint64_t run_start_unix_ns() const { return run_start_; }
  // What is missing or damaged, as far as it is known: complete after the last row.
  std::vector<std::string> losses() const;

 private:
  struct Names {
    std::vector<std::string> names;
    std::vector<bool> wanted;  // of files
    std::unordered_map<std::string, std::int32_t> index;
    std::int32_t of(const std::string& name);
  };
  struct Pending {
    const recorder::Call* call;
    std::uint64_t order_ns;
    std::int32_t file, dataset;
    std::string where;
    std::optional<std::int64_t> mpi_offset_bytes;
    bool inner;
  };
  struct Process {
    Process(const recorder::TraceIndex& index, std::size_t section, std::uint64_t until_ns)
        : number(section), walk(index, section, until_ns) {}
    std::size_t number;
    std::int64_t rank = -1;
    std::uint64_t wall_ns = 0;
    recorder::ProcessWalk walk;
    OwnerFollower owners;
    MpiAccesses accesses;
    std::vector<std::int32_t> file_numbers;  // of owners' files here
    recorder::CallGroup group;
    std::vector<Pending> rows;  // of the group
    std::size_t next_row = 0;
    std::uint64_t order_ns = 0;
    std::uint64_t followed = 0;
  };
  struct Turn {
    std::uint64_t order_ns;
    std::size_t process;
    bool operator>(const Turn& other) const {
      return order_ns != other.order_ns ? order_ns > other.order_ns : process > other.process;
    }
  };

  CallRows(recorder::TraceReader reader, recorder::CallFilter filter);
  bool fill(Process& process);
  void follow(Process& process);
  std::int32_t file_number(Process& process, std::int32_t own);

  recorder::TraceReader reader_;
  recorder::CallFilter filter_;
  std::uint64_t run_start_ = 0;
  std::vector<std::unique_ptr<Process>> processes_;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
  Names files_, datasets_;
};

}  // namespace iotune::analyzer
