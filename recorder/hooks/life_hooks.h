// What the tuner has to know of a run's life. It fills this table when the library is put together.
// Each entry runs inside OwnCode, keeps errno and never throws.
#pragma once

#include <cstddef>
#include <span>

namespace iotune {
class Provider;
}

namespace iotune::recorder {

struct LifeHooks {
  void (*after_mpi_init)(Provider& mpi);
  // All ranks of the world are here, MPI still works.
  void (*before_mpi_finalize)(Provider& mpi);
  // This process has written the run's trace, and no other one waits for it any more: after the
  // real MPI_Finalize, or at the exit of a process without MPI.
  void (*run_ended)(const char* trace);
  // At the end of an MPI run, for the site's log of what was applied: what this rank has to tell
  // rank 0, plain bytes of one size on all ranks; empty: nothing.
  std::span<const std::byte> (*own_outcomes)();
  // On rank 0: where another rank's go, empty where they are not asked for; and that they are
  // there.
  std::span<std::byte> (*room_for_outcomes)();
  void (*take_outcomes)();
  // The last of this process that is sure to come: after the real MPI_Finalize, and at an exit.
  void (*process_ends)();
  // Around MPI_Barrier: what a rank did before it may be what others count on afterwards. Called
  // outside of OwnCode.
  void (*before_meeting)();
  void (*after_meeting)();
  // The process is about to be replaced by another program, or to end without its handlers. Called
  // in whatever context.
  void (*before_leaving)();
};

extern LifeHooks g_life_hooks;

}  // namespace iotune::recorder
