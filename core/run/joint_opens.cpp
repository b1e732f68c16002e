#include "core/run/joint_opens.h"

namespace iotune {

Word communicator_of_open(const MpiApi& mpi, Word comm, JointService service) noexcept {
  const MpiConstants& constants = mpi.constants;
  if (!all_ranks_run(service) || !constants.known) return 0;
  if (((comm ^ constants.comm_null) & constants.handle_mask) == 0) return 0;
  int size = 0;
  if (mpi.MPI_Comm_size(comm, &size) != 0 || size < 2 || !is_inside_world(mpi, comm)) return 0;
  const Word made = split_quietly(mpi, comm);
  return made == constants.comm_null ? 0 : made;
}

}  // namespace iotune
