// What the environment asks of this process, read once before the first wrapped call does
// anything. Strings point into private copies that live as long as the process.
#pragma once

#include <cstdint>

namespace iotune {

enum class Mode : std::uint8_t { kOff, kRecord, kTune };

struct Configuration {
  Mode mode = Mode::kTune;       // IOTUNE_MODE
  bool time_every_call = false;  // IOTUNE_TIMING=call or exact
  bool exact_times = false;      // IOTUNE_TIMING=exact: to the nanosecond
  bool verbose = false;          // IOTUNE_VERBOSE
  // IOTUNE_RECORD=sample, and where it says nothing and neither a trace is asked for nor times,
  // order nor prefetching, in which all calls count: of long series of files not all are recorded.
  bool samples_files = false;
  bool records_order = false;  // IOTUNE_ORDER=1: also the calls of MPI that order processes
  // IOTUNE_TRACE, nullptr: the default directory. `iotune run` sets it: where it is set a trace is
  // asked for, else only one that is worth it is kept (recorder/gather/worth.h).
  const char* trace_path = nullptr;
  const char* buffer_root = nullptr;  // IOTUNE_BUFFER_DIR, nullptr: /dev/shm/iotune-<uid>
  const char* include = nullptr;      // IOTUNE_INCLUDE, globs separated by ':'
  const char* exclude = nullptr;      // IOTUNE_EXCLUDE
  const char* state_home = nullptr;   // XDG_STATE_HOME or HOME/.local/state
  std::uint64_t buffer_limit_bytes = 64u << 20;  // IOTUNE_BUFFER_LIMIT_MIB
  // IOTUNE_MEMORY_MIB: finished blocks beyond it leave the buffer for a file.
  std::uint64_t memory_bytes = 4u << 20;
  std::uint64_t spill_limit_bytes = 1u << 30;  // IOTUNE_SPILL_LIMIT_MIB, of that file
  // IOTUNE_MERGE_ABOVE_MIB: larger runs store once what ranks did alike, with common times.
  std::uint64_t merge_above_bytes = 16u << 20;
  bool frozen = false;                        // the site: nothing is learnt
  bool learns = true;                         // not frozen, nor IOTUNE_DB=none
  unsigned share = 100;                       // the site: percent of jobs that may be tuned
  const char* prefetch = nullptr;             // IOTUNE_PREFETCH, nullptr: not said
  const char* prefetch_schedule = nullptr;    // IOTUNE_PREFETCH_SCHEDULE
  const char* prefetch_delivery = nullptr;    // IOTUNE_PREFETCH_DELIVERY
  const char* prefetch_memory_mib = nullptr;  // IOTUNE_PREFETCH_MEMORY_MIB
  const char* gather = nullptr;               // IOTUNE_GATHER, or the site's
  const char* logstore = nullptr;             // IOTUNE_LOGSTORE: prefixes separated by ':'
  bool is_launcher = false;  // this process is mpirun, mpiexec or one of their proxies
  // IOTUNE_KEEP_ABOVE_MIB, or the site's: what makes a program without MPI, HDF5 and netCDF worth
  // it.
  std::uint64_t keep_above_bytes = 16u << 20;
};

const Configuration& configuration() noexcept;

// Once, by the constructor. Remembers what stderr is: a program may close it and get the number
// back for a file of its data. An unknown IOTUNE_MODE counts as off, and is said. `arguments` of
// the program, with its name; they end with nullptr.
void read_configuration(const char* const* arguments) noexcept;
// For a job that the site's share leaves out, before any rank is counted.
void record_only() noexcept;

// One line on stderr, "iotune: …", at most once for each `once` flag, and only on the lowest
// rank (or where MPI is not initialised). Keeps errno.
void say_once(bool& once, const char* text) noexcept;
void say(const char* text) noexcept;
// Also where this is a rank that is quiet: of what only it knows.
void say_on_any_rank(const char* text) noexcept;
// Whether a line on stderr would disturb nothing: it is what the process began with.
bool may_say() noexcept;

// Set by MPI_Init: ranks other than 0 keep quiet.
void set_quiet_rank(bool quiet) noexcept;
bool is_quiet_rank() noexcept;

}  // namespace iotune
