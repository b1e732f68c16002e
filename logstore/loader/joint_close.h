// A container that ranks have opened together becomes an ordinary file when they close it.
//
// They agree on that inside MPI_File_open and MPI_File_close, which are collective already. Who has
// opened a container knows that all ranks of the communicator have, and so have this library:
// nobody else can. So no rank waits for one that does not take part.
#pragma once

#include "logstore/preload/library_interface.h"

namespace iotune::logstore {

// From now on.
void install_joint_close(const ClosingCalls& calls) noexcept;

}  // namespace iotune::logstore
