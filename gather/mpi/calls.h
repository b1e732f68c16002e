// What stands in front of the MPI library's functions on files.
#pragma once

#include "core/abi/mpi_abi.h"

namespace iotune::gather {

// What is to be called in place of MPI's function `name`, which is `real`: that one itself where
// nothing stands in front of it. `real` is of this process's one MPI.
void* in_front_of(const char* name, void* real) noexcept;

using OpenFunction = int(Word, const char*, int, Word, Word*);
struct OpenCall {
  Word comm;
  const char* name;
  int amode;
  Word info;
  Word* handle;
};
// Makes the call; the file is gathered from then on where all of its ranks can do that.
int open_and_gather(OpenFunction* real, const OpenCall& call) noexcept;

// Of all files, what this rank holds.
void write_out_all() noexcept;

}  // namespace iotune::gather
