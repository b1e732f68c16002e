#include "tuner/hdf5/cache_budget.h"

#include <sys/sysinfo.h>

#include "core/abi/mpi_api.h"
#include "core/run/presence.h"
#include "tuner/decision/job_memory.h"

namespace iotune::tuner {

std::uint64_t own_cache_budget_bytes() noexcept {
  struct sysinfo node {};
  if (sysinfo(&node) != 0) return 0;
  int ranks = 1;
  Provider* const world = world_provider();
  const MpiApi* const mpi = world == nullptr ? nullptr : mpi_api(*world);
  int finalized = 1;
  if (mpi != nullptr && mpi->MPI_Finalized(&finalized) == 0 && finalized == 0) {
    mpi->MPI_Comm_size(mpi->constants.comm_world, &ranks);
  }
  const std::uint64_t memory = std::uint64_t{node.totalram} * node.mem_unit;
  const std::uint64_t limit = job_limit_bytes();
  return cache_budget_bytes(memory < limit ? memory : limit, ranks, run_nodes());
}

}  // namespace iotune::tuner
