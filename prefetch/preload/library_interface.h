// What libiotune.so gives to libiotune-prefetch.so, beside the interface of all services
// (recorder/hooks/service.h), whose version grows with it.
#pragma once

#include <cstdint>

#include "core/process/process_events.h"

namespace iotune::prefetch {

// What a stream's record in the trace says (docs/prefetch.md, "In the trace"). Times in ticks.
struct PrefetchNote {
  int fd;
  std::uint32_t file;
  std::uint64_t reads, hits, late, requested, requested_bytes, unused_bytes, wait, saved;
  std::uint64_t greatest_depth, served;
  const char* predictor;
};

// What the library has of the preload. Texts live as long as the process; every function may be
// called by any thread, inside OwnCode.
struct PrefetchHost {
  const char* predictor;   // IOTUNE_PREFETCH
  const char* schedule;    // IOTUNE_PREFETCH_SCHEDULE; nullptr: not said
  const char* delivery;    // IOTUNE_PREFETCH_DELIVERY; nullptr: not said
  const char* memory_mib;  // IOTUNE_PREFETCH_MEMORY_MIB; nullptr: not said
  const char* state_home;  // nullptr: none
  void (*say)(const char* text);
  void (*note)(const PrefetchNote& note);
  int (*world_rank)();
  // Of the run, if all of them are on this node and may tune: then 1 or more. 0: they are not.
  // Below 0: that is not known before MPI_Init.
  int (*ranks_on_node)();
  int (*run_nodes)();  // as far as is known; at least 1
  const char* (*run_id)();
  // In memory, private to the user; nullptr: there is none.
  const char* (*buffer_root)();
  // Of the time since the process began; shifted left by TickRate::kShift.
  std::uint64_t (*ns_per_tick)();
  // Of the global scope; nullptr: there is none.
  void* (*symbol)(const char* name);
  // This thread is iotune's: its calls go straight through.
  void (*thread_is_ours)();
  // The number of a traced descriptor's file; 0: it is not traced.
  std::uint32_t (*file_of_descriptor)(int fd);
  // As in core/link/real_function.h.
  void (*interpose)(void* (*replacement)(const char* name, void* real));
  // Into the preload's list: a library of its own has none that the preload's fork would walk.
  void (*enlist)(AfterFork& entry);
  // Filled by the library. 0 or an errno value; see include/iotune.h. nullptr: nothing can be run
  // ahead.
  int (*preexecute)(void (*slice)(void*), void* argument);
};

}  // namespace iotune::prefetch
