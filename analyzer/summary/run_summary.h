// What a run did, in patterns: the analyzer's result, and all that the pattern
// database and the reports know of a trace.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "recorder/read/actual_io.h"

namespace iotune::analyzer {

enum class Distribution : std::uint8_t { kBlock, kCyclic, kCyclicK, kWhole /* "*" */, kIrregular };

// One dimension of a descriptor. `count` is what a rank holds of the whole dataset in this
// dimension over all its calls, in elements: the largest of all ranks where they differ.
struct DimensionPattern {
  Distribution distribution;
  std::uint64_t count;
  std::uint64_t cyclic_block;  // k of CYCLIC(k), else 1
};

// The paper's notation (Behzad et al., PDSW'15, section 2.2): see docs/descriptors.md.
struct Descriptor {
  std::vector<DimensionPattern> dimensions;
  bool last_in_bytes = false;  // count and cyclic_block of the last dimension, not in elements
  // Canonical: <3D,(BLOCK,*,CYCLIC(4)),(60,100,300)>; with last_in_bytes
  // <3D,(BLOCK,*,CYCLIC(16 B)),(60,100,1200 B)>.
  std::string text() const;
};

enum class TransferMode : std::uint8_t { kIndependent, kCollective, kMixed, kUnknown };

// All transfers of one direction on one dataset of one file by all ranks. Of a file without HDF5
// the bytes of the file are such datasets.
struct DatasetPattern {
  std::string dataset;  // path in the file
  bool write;
  Descriptor descriptor;
  std::uint64_t element_bytes;
  std::vector<std::uint64_t> dataset_dims;
  std::vector<std::uint64_t> process_grid;  // per dimension; empty when irregular
  std::vector<std::uint64_t> halo;          // elements that neighbours share; empty: none
  std::vector<std::uint64_t> chunk;         // empty: not chunked
  std::uint32_t filters;
  std::uint32_t ranks;  // that moved data
  TransferMode mode;
  std::uint64_t calls;    // over all ranks
  std::uint64_t repeats;  // how often the whole was done again (time steps)
  std::uint64_t bytes;
  // Of its collective calls, over all ranks, as far as HDF5 reported.
  recorder::ActualCounts actual;
  // The slowest rank's sum of call durations, with what closing and flushing took of its bytes.
  double seconds;
  // Dimensions and descriptor follow from the bytes alone: docs/descriptors.md, "Without HDF5".
  bool inferred = false;
  bool through_mpi = false;  // of what is inferred: moved by MPI-IO, else by POSIX or stdio
  std::string ambiguity;     // what else they may be; empty where views declare the array
  // Of `bytes`, those that one rank had moved as a whole before, as fill values are written.
  std::uint64_t filled_bytes = 0;
};

// A setting as the tuner noted it down (iotune_setting).
struct SettingOutcome {
  std::string parameter, wanted, got, reason;
  std::string verdict;  // core/words/decision_words.inc

  template <class A>
  void archive(A& a) {
    a(parameter, wanted, got, reason, verdict);
  }
};

// What prefetching did for a file: over all streams of all ranks (iotune_prefetch).
struct PrefetchOutcome {
  std::string predictor;  // empty: nothing was prefetched
  std::uint64_t streams = 0, reads = 0;
  std::uint64_t hits = 0;    // reads of what had been requested before
  std::uint64_t late = 0;    // hits that waited all the same
  std::uint64_t served = 0;  // reads that no call was made for: out of iotune's own memory
  std::uint64_t requests = 0, requested_bytes = 0, unused_bytes = 0;
  double wait_seconds = 0, saved_seconds = 0;  // sums; what is saved is an estimate
  std::uint64_t depth = 0;                     // the greatest

  template <class A>
  void archive(A& a) {
    a(predictor, streams, reads, hits, late, served, requests, requested_bytes, unused_bytes,
      wait_seconds, saved_seconds, depth);
  }
};

// What gathering did for a file: over all ranks (iotune_gather).
struct GatherOutcome {
  std::uint64_t ranks = 0;  // that gathered it
  std::uint64_t held_calls = 0, held_bytes = 0, reads_served = 0;
  std::uint64_t flushes = 0, exchange_calls = 0;  // of all ranks together: the greatest
  std::uint64_t exchange_bytes = 0, piece_writes = 0, piece_bytes = 0;
  std::uint64_t alone_writes = 0, alone_bytes = 0;
  std::uint64_t waiting_bytes = 0;  // held still when the trace was written
  // Why something was not held: how many calls, of all ranks; 0: nothing of the file is.
  std::map<std::string, std::uint64_t> not_held;

  bool is_known() const { return ranks > 0 || !not_held.empty(); }

  template <class A>
  void archive(A& a) {
    a(ranks, held_calls, held_bytes, reads_served, flushes, exchange_calls, exchange_bytes,
      piece_writes, piece_bytes, alone_writes, alone_bytes, waiting_bytes, not_held);
  }
};

struct FilePattern {
  std::string path;
  std::string masked_name;  // base name, each number as '#'
  std::uint64_t bytes_written, bytes_read;
  // Slowest rank: sum over its outermost calls on this file, open and close included.
  double io_seconds;
  double elapsed_seconds;    // first open to last close
  double opened_at_seconds;  // after the run's first call
  // A process that ended early (a signal, _exit) left it open: what it would have moved
  // is not known.
  bool cut_short;
  // Of a long series: of some opening only its times and settings are known (IOTUNE_RECORD).
  bool sampled_out;
  // A process had it as its stdout when it began: what programs say, and no data.
  bool is_stdout;
  std::vector<DatasetPattern> datasets;  // in order of first transfer
  // Index of the file's dominant dataset: of the largest ones, the first
  // (PDSW'15, section 3.3), and how many share its size and pattern. None without transfers.
  std::optional<std::size_t> dominant_dataset;
  std::size_t dominant_count;
  std::string decision_source, decision_pattern, decision_message;  // iotune_decision
  std::int64_t decision_row = -1;                                   // -1: none
  double decision_distance;
  std::string decision_state;
  std::vector<SettingOutcome> settings;
  PrefetchOutcome prefetch;
  GatherOutcome gather;
};

// A region of the program (include/iotune.h), in its place among the others: all entries of all
// threads of all processes.
struct RegionPattern {
  std::vector<std::string> path;  // names, the outermost first; the last one is its own
  std::uint64_t entered, open;    // open: was not ended
  std::uint32_t processes;        // that entered it
  // Of ended entries. Sums over all threads; those of the process in which they are largest.
  double seconds, slowest_seconds, io_seconds, slowest_io_seconds;
  double least_seconds, largest_seconds;    // of one entry
  std::uint64_t calls;                      // outermost ones
  std::uint64_t bytes_written, bytes_read;  // by these
  // After the run's first call.
  double first_begin_seconds, last_end_seconds;
};

struct RunSummary {
  std::string run_id, program, program_name, mpi, hdf5;
  std::string identity;  // analyzer/summary/program_identity.h
  std::vector<std::string> argv;
  std::uint32_t ranks;      // size of MPI_COMM_WORLD, 1 without MPI
  std::uint32_t processes;  // sections in the trace
  std::uint32_t nodes;
  double start_unix_seconds, elapsed_seconds;
  double io_seconds;  // in outermost calls on files, of the slowest process
  std::uint64_t calls, dropped;
  std::vector<FilePattern> files;      // in order of first open
  std::vector<RegionPattern> regions;  // each before those inside it, else in order of first begin
  std::vector<std::string> warnings;   // damage, ranks that are missing, calls dropped
  std::vector<std::string> notes;      // of how it ended, where nothing is missing
};

// The same names; distributions as text.
std::string to_json(const RunSummary& summary);
std::string to_json(const FilePattern& file);

}  // namespace iotune::analyzer
