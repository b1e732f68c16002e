// A container that ranks have opened together becomes an ordinary file when they close it.
//
// They agree on that inside MPI_File_open and MPI_File_close, which are collective already. Every
// rank takes part in each, whatever its open gave it; but only where all ranks of the world are
// loaded and keep files as logs, which is counted before MPI_Init (core/run/presence.h). Elsewhere,
// and where a rank has no container, nobody speaks: each tries when it has closed the file, and the
// locks say which was the last.
#pragma once

#include "logstore/preload/library_interface.h"

namespace iotune::logstore {

// From now on.
void install_joint_close(const ClosingCalls& calls) noexcept;

}  // namespace iotune::logstore
