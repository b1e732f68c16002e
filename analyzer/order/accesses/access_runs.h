// What processes did to the bytes of files, as loops: what conflicts are counted on. The words
// (segment, event) are explained in README.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "recorder/call_table.h"

namespace iotune::analyzer {

// What an iteration of one loop adds. Segments grow with every iteration, as programs run.
struct RunLevel {
  std::int64_t stride = 0;        // bytes in the file
  std::int64_t count = 0;         // iterations, >= 2
  std::int64_t segment_step = 0;  // >= 0

  friend constexpr bool operator==(const RunLevel&, const RunLevel&) noexcept = default;
};

// Accesses of one call site, as a nest.
struct AccessRun {
  std::uint32_t file = 0;  // index into TraceAccesses::files
  std::uint32_t site = 0;  // index into ProcessAccesses::sites
  bool write = false;
  std::uint64_t segment = 0;     // of the first access
  std::int64_t start = 0;        // bytes in the file, of the first access
  std::int64_t length = 0;       // bytes of each, > 0
  std::vector<RunLevel> levels;  // outermost first
};

// The call that touched the bytes, and the calls around it.
struct CallSite {
  const recorder::CallSignature* function = nullptr;
  const recorder::CallSignature* mpi = nullptr;   // the call of MPI-IO around it
  const recorder::CallSignature* hdf5 = nullptr;  // the call of HDF5 around it
  std::string dataset;                            // path of the one that `hdf5` moves data of
  bool truncates = false;                         // ends the file, or empties it: not a transfer
  bool commits = false;  // what it writes is stored when it ends: O_SYNC or O_DSYNC
  bool atomic = false;   // through a handle of MPI-IO in atomic mode
};

struct ProcessAccesses {
  std::size_t trace = 0;   // of those that were read together
  std::int64_t rank = -1;  // -1: not a rank of MPI_COMM_WORLD
  std::string host;
  std::uint64_t pid = 0;
  std::vector<CallSite> sites;
  // By file, then by site; each site's with rising segments of their first accesses.
  std::vector<AccessRun> runs;
  std::uint64_t events = 0;  // there are as many segments and one more
};

// What the run did to a file of the file system, whatever its names.
struct AccessedFile {
  std::string path;                 // of its first opening
  std::vector<std::string> names;   // further ones
  std::uint64_t without_place = 0;  // accesses of which it is not known where
};

}  // namespace iotune::analyzer
