// Settings of plain POSIX, beneath HDF5 and MPI-IO: advice on the descriptors that an open makes
// (fadvise), and room on the disk for a new file (fallocate with FALLOC_FL_KEEP_SIZE). Neither
// changes a file's bytes or size.
#pragma once

#include <cstdint>

#include "tuner/decision/packed_decision.h"

namespace iotune::tuner {

struct PosixAdvice {
  const char* path;
  int advice;                   // POSIX_FADV_*, -1: none
  std::uint64_t reserve_bytes;  // 0: none
  bool anew;                    // the open makes the file, or cuts it to nothing
  bool similar_only;            // the answer is another pattern's, so the bytes are another file's
  int advised, failed;  // descriptors of this thread's opens that the kernel took it for, or not
  int last_fd;          // of those opens; -1: none
};

// Whether a setting is one of these.
bool is_posix_advice(const char* name) noexcept;

// `wanted`: the settings to be applied; `decision`: where they come from. True where one is of this
// kind: then `plan` is filled, and holds for opens of this thread until disarm_posix_advice, as
// does `path`.
bool arm_posix_advice(const char* path, bool anew, const Decision& decision,
                      const SettingList& wanted, PosixAdvice& plan) noexcept;
void disarm_posix_advice() noexcept;

// Slot of recorder: any open of a traced file has given this descriptor.
void after_open(const char* path, int fd) noexcept;

// After the open, on the one rank that notes: reserves, reads back, and notes each of the settings
// in `wanted`. HDF5 and MPI-IO cut a new file to nothing while they open it, and what was
// reserved before would be lost.
void reserve_and_note(const PosixAdvice& plan, const SettingList& wanted) noexcept;

}  // namespace iotune::tuner
