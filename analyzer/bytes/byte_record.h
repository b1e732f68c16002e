// The bytes of a file that ranks moved without HDF5, and the arrays that they may be.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/bytes/byte_runs.h"
#include "analyzer/bytes/byte_tallies.h"
#include "analyzer/bytes/index_sets.h"
#include "analyzer/bytes/infer_shape.h"
#include "analyzer/summary/run_summary.h"

namespace iotune::analyzer {

// One direction on one file, or on the part of it that views of one displacement declare.
struct ByteRecord {
  std::uint64_t first_transfer_ns = UINT64_MAX;  // Unix time
  std::uint64_t calls = 0, bytes = 0;
  bool independent = false, collective = false;
  bool through_mpi = false;               // by MPI-IO, else POSIX or stdio alone
  std::uint64_t slowest_nanoseconds = 0;  // of all processes; UINT64_MAX: not known
  std::uint64_t repeats = UINT64_MAX;     // the least of all that moved bytes
  std::uint64_t most_bytes = 0;           // that a process moved
  std::uint32_t ranks = 0;
  bool lost = false;  // of some process it is not known where its bytes lie
  IndexSets sets;     // of each process
  std::vector<std::vector<std::uint64_t>> cuts;  // in each of them (ByteRuns::cuts)
  std::vector<ByteTallies> tallies;              // of each
  std::vector<FilledBytes> filled;               // of those that moved bytes as a whole first
  // Of transfers whose place is not known. They are in `bytes` and `ranks` as well.
  OwnedTally unplaced;              // its nanoseconds: of the slowest process
  std::uint64_t most_unplaced = 0;  // bytes of one process
  std::uint32_t unplaced_ranks = 0;
  IndexSets aggregated;  // what POSIX moved below collective ones, by the process that did it
  // What all transfers agree on.
  bool has_hint = false;
  ShapeHint hint;

  // A transfer says this beside its bytes.
  void take_hint(const ShapeHint& said);
  // All that one process moved. `unknown`: beside `runs`, at places that are not known;
  // `below`: what it moved then for others, as their aggregator.
  void take(ByteRuns& runs, const ByteTallies& moved_by, std::uint64_t nanoseconds,
            const OwnedTally& unknown, ByteRuns& below);
  void take(ByteRuns& runs, const ByteTallies& moved_by, std::uint64_t nanoseconds);

  void take_unknown(const OwnedTally& more);

  template <class A>
  void archive(A& a) {
    a(first_transfer_ns, calls, bytes, independent, collective, through_mpi, slowest_nanoseconds,
      repeats, most_bytes, ranks, lost, sets, cuts, tallies, filled, unplaced, most_unplaced,
      unplaced_ranks, aggregated, has_hint, hint);
  }
};

// Patterns of the record, marked as inferred: one for each array that its bytes hold. Their
// datasets are called after where they lie: "(bytes)", "(bytes from 4096)".
std::vector<DatasetPattern> patterns_of(const ByteRecord& record, bool write);

}  // namespace iotune::analyzer
