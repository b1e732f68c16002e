// The conflicts of a trace: accesses of two processes that touch the same byte of one file, of
// which one at least writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/order/accesses/access_reader.h"
#include "analyzer/order/accesses/access_runs.h"
#include "analyzer/order/models/happens_before.h"

namespace iotune::analyzer {

// What one process did to a file by one call site.
struct SiteRuns {
  std::size_t process;
  std::uint32_t file;
  std::span<const AccessRun> runs;
  const CallSite* site = nullptr;

  bool write() const { return runs.front().write; }
};

// Two processes, the first one's number is less, and how many pairs of their accesses conflict.
struct ConflictGroup {
  SiteRuns a, b;
  std::uint64_t pairs;
};

// All groups that have conflicts, file by file. `trace` must outlive the spans.
std::vector<ConflictGroup> conflict_groups(const TraceAccesses& trace);

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

constexpr std::size_t kModels = std::size(kConsistencyModels);

struct SiteConflicts {
  ConflictKind kind;
  std::string first, second;  // H5Dwrite of /a → MPI_File_write_at → pwrite; the write first
  std::uint64_t pairs = 0;
  std::uint64_t process_pairs = 0;  // pairs of processes that have some
  ConflictPlace example[2] = {};
  struct Model {
    std::uint64_t wrong = 0;  // pairs that are not properly synchronised
    // One of them, the earlier call first where an order is known, and what would make it right.
    std::optional<std::pair<ConflictPlace, ConflictPlace>> example;
    std::string missing;
  };
  Model models[kModels];
};

struct FileConflicts {
  std::uint32_t file;
  std::vector<std::int64_t> ranks;  // that are in a conflict, rising
  std::uint64_t processes = 0;      // that touched bytes of it
  std::uint64_t pairs = 0;
  std::uint64_t wrong[kModels] = {};
  std::vector<SiteConflicts> sites;  // the most pairs first
};

// H5Dwrite of /a → MPI_File_write_at → pwrite.
std::string site_text(const CallSite& site);

// Of files that two processes touched, in the trace's order. `judge` sets the models of what each
// group belongs to; without it nothing is said of any order.
std::vector<FileConflicts> find_conflicts(
    const TraceAccesses& trace, std::span<const ConflictGroup> groups,
    const std::function<void(const ConflictGroup&, SiteConflicts&)>& judge = {});

}  // namespace iotune::analyzer
