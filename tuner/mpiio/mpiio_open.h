// Decision and hints at MPI_File_open, where the program calls it itself.
#pragma once

#include "recorder/hooks/decisions.h"

namespace iotune::tuner {

void before_mpiio_open(Provider& provider, Word comm, const char* path, int amode, Word& info,
                       recorder::OpenState& state) noexcept;
bool again_mpiio_open(Provider& provider, const char* path, Word file, int result, Word& info,
                      recorder::OpenState& state) noexcept;
void after_mpiio_open(Provider& provider, const char* path, Word file, int result,
                      recorder::OpenState& state) noexcept;

}  // namespace iotune::tuner
