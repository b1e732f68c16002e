// What one process moved outside HDF5, by file.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analyzer/bytes/byte_runs.h"
#include "analyzer/bytes/byte_tallies.h"
#include "analyzer/bytes/bytes_below.h"
#include "analyzer/calls/mpi_accesses.h"
#include "analyzer/summary/alike_ranks.h"
#include "analyzer/summary/file_table.h"
#include "recorder/read/access_words.h"
#include "recorder/read/call.h"
#include "recorder/read/trace_blocks/stream_totals.h"

namespace iotune::analyzer {

class ByteShares {
 public:
  // `alike`: other processes move as much, elsewhere.
  explicit ByteShares(bool alike) : alike_(alike) {}

  // Every call in its turn, for views and file pointers. `file`: of a transfer that no other call
  // made, else nullptr. `index`: the call's among those of the process.
  void follow(std::size_t index, const recorder::Call& call, FileRecord* file, bool write);
  // A transfer of POSIX within a call of MPI-IO (kInMpiIo): where the bytes of that one may lie.
  void moved_below(const recorder::Call& call, const FileRecord& file, bool write) {
    below_.moved(call, file, write);
  }
  // Whether the places of a stream of MPI-IO are known by its calls alone.
  bool are_placed(const recorder::StreamTotals& totals) const;
  // Many such calls at once: the transfers of one stream, all of which moved bytes of `file`, and
  // all of MPI-IO by one handle. Returns the bytes.
  std::uint64_t follow_all(const recorder::StreamTotals& totals, FileRecord& file, bool write);
  // What another of alike processes moved instead.
  void move_as_member(AlikeRanks& ranks, std::size_t k);
  // All that one process moved was said.
  void finish_member(std::uint64_t wall_ns);

  // Of processes that are not alike.
  template <class A>
  void archive(A& a) {
    a(mpi_, below_, shares_);
  }

 private:
  struct Share {
    ByteRuns runs;
    ByteTallies tallies;
    OwnedTally unknown;  // transfers without a place
    ByteRuns below;      // what POSIX moved in those of them that were collective
    std::uint64_t nanoseconds = 0, calls = 0;  // UINT64_MAX ns: not known
    std::uint64_t first_ns = UINT64_MAX;       // after the process's start
    template <class A>
    void archive(A& a) {
      a(runs, tallies, unknown, below, nanoseconds, calls, first_ns);
    }
  };
  struct Move {
    Share* share;
    std::size_t call;
    std::uint64_t nanoseconds;
  };
  struct Target {
    ByteRecord& record;
    Share& share;
  };
  struct Viewed {
    std::uint64_t displacement;
    ShapeHint hint;
  };
  static Viewed viewed(const recorder::Call& call, const FileView* view);
  static void note_mode(const recorder::Call& call, bool mpi, ByteRecord& record);
  Target target(FileRecord& file, std::uint64_t displacement, bool write);
  static void add_bytes(const recorder::AccessWords& words, Tally tally, Share& to);
  static void add_extents(const std::optional<FileExtents>& found, Tally tally, Share& to);

  MpiAccesses mpi_;
  BytesBelow below_;
  std::map<ByteRecord*, Share> shares_;
  bool alike_;
  std::vector<Move> moves_;  // of POSIX and stdio; only where alike processes follow
};

}  // namespace iotune::analyzer
