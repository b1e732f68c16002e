// What one open of HDF5 or MPI-IO asks of the POSIX opens beneath it: a place for the file, and
// what posix_advice.h has.
#pragma once

#include "tuner/posix/placement.h"
#include "tuner/posix/posix_advice.h"

namespace iotune::tuner {

struct PosixOpens {
  char path[4096];  // the others point here: not to be copied
  Placement placement;
  PosixAdvice advice;
  bool places, advises;  // `placement`, `advice` are filled
};

// How the program opens the file.
struct FileMaking {
  bool creating;              // makes it where it is not there
  bool emptying;              // cuts it to nothing where it is
  bool by_each_rank = false;  // ranks open it at the same time, each by itself
};

// Nothing asked.
void clear(PosixOpens& opens) noexcept;

// `wanted`: the settings to be applied, of which others than these are left alone; `decision`:
// where they come from. They hold for opens of this thread until disarm. To be called before any
// rank may have made the file.
void arm(const char* path, FileMaking making, const Decision& decision, const SettingList& wanted,
         PosixOpens& opens) noexcept;
void disarm(const PosixOpens& opens) noexcept;

// After the open, on the one rank that notes: does what has to be done then, reads back, and notes
// each of the settings in `wanted`.
void finish_and_note(const PosixOpens& opens, const SettingList& wanted) noexcept;

}  // namespace iotune::tuner
