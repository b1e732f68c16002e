// A file that the program opens by POSIX or stdio itself: placement and advice are set on the
// descriptor, by each process for itself, because nothing there is collective. What is to be set is
// asked once, in MPI_Init: an open may stand in a signal handler, and thousands of ranks must not
// read one database.
#pragma once

#include "core/abi/mpi_api.h"
#include "recorder/hooks/decisions.h"

namespace iotune::tuner {

// Collective over the world, in which all ranks tune: rank 0 asks.
void learn_program_answers(const MpiApi& mpi) noexcept;

// Slots of recorder.
void before_program_open(const char* path, int flags, recorder::OpenState& state) noexcept;
void after_program_open(const char* path, recorder::OpenState& state) noexcept;

}  // namespace iotune::tuner
