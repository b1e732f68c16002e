// Whether anybody set parameters (MCA) of Open MPI's MPI-IO, by a look at where they are set.
#pragma once

namespace iotune::tuner {

// False only where it is known that nobody did: neither the environment (mpirun hands its own
// there), the user's ~/.openmpi/mca-params.conf nor the site's files name one. To ask MPI itself
// takes a fifth of a second, and nearly nobody sets any. Local.
bool io_parameters_may_be_set() noexcept;

}  // namespace iotune::tuner
