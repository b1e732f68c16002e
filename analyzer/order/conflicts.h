// The conflicts of a trace: accesses of two processes that touch the same byte of one file, of
// which one at least writes. Nothing is said of their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/order/accesses/access_reader.h"
#include "analyzer/order/accesses/access_runs.h"

namespace iotune::analyzer {

// What one process did to a file by one call site.
struct SiteRuns {
  std::size_t process;
  std::uint32_t file;
  std::span<const AccessRun> runs;

  std::uint32_t site() const { return runs.front().site; }
  bool write() const { return runs.front().write; }
};

// Two processes, the first one's number is less, and how many pairs of their accesses conflict.
struct ConflictGroup {
  SiteRuns a, b;
  std::uint64_t pairs;
};

// Calls `take` for all groups that have conflicts, file by file. `trace` must outlive the spans.
void each_conflict_group(const TraceAccesses& trace,
                         const std::function<void(const ConflictGroup&)>& take);

// What a person reads: groups of all processes by what they called.
enum class ConflictKind : std::uint8_t { kWriteWrite, kWriteRead, kTruncate };

struct ConflictPlace {
  std::int64_t rank, offset, length;
  std::size_t process;
  std::uint64_t segment;
  bool write, truncates;
  bool metadata;    // HDF5's own: within a call of HDF5 that moves no dataset
  bool collective;  // within a transfer of MPI-IO that all ranks make together
};

// Of the first access of the run, which is one of the site's.
ConflictPlace place_of(const TraceAccesses& trace, const AccessRun& run, const SiteRuns& of);

struct SiteConflicts {
  ConflictKind kind;
  std::string first, second;  // H5Dwrite of /a → MPI_File_write_at → pwrite
  std::uint64_t pairs = 0;
  std::uint64_t process_pairs = 0;  // pairs of processes that have some
  ConflictPlace example[2] = {};
};

struct FileConflicts {
  std::uint32_t file;
  std::vector<std::int64_t> ranks;  // that are in a conflict, rising
  std::uint64_t processes = 0;      // that touched bytes of it
  std::uint64_t pairs = 0;
  std::vector<SiteConflicts> sites;  // the most pairs first
};

// Of files that two processes touched, in the trace's order.
std::vector<FileConflicts> find_conflicts(const TraceAccesses& trace);

// H5Dwrite of /a → MPI_File_write_at → pwrite.
std::string site_text(const CallSite& site);

}  // namespace iotune::analyzer
