// Striping of a file that is about to be made: set inside the open of whichever rank makes it,
// before that open returns. Making the file beforehand would break H5F_ACC_EXCL.
#pragma once

#include "tuner/decision/packed_decision.h"
#include "tuner/posix/file_layout.h"

namespace iotune::tuner {

struct Placement {
  const char* path;
  FileLayout wanted;
  LayoutKind kind;
  bool creating, existed;
  bool by_each_rank;  // ranks open the file at the same time, each by itself
  bool own_layout;    // the directory's
  bool making;        // this thread's open is the one that makes it
  bool made;          // and has
  Reason refused;     // what the file system answered here; kNone: it took the layout
};

// Whether anything has this name, a dangling link too.
bool is_there(const char* path) noexcept;

// Whether a setting is one of these.
bool is_placement(const char* name) noexcept;

// `wanted`: the settings to be applied. True where one is for placement: then `placement` is
// filled, and holds for opens of this thread until disarm_placement, as does `path`. Before any
// rank may have made the file.
bool arm_placement(const char* path, bool creating, bool by_each_rank, const SettingList& wanted,
                   Placement& placement) noexcept;
void disarm_placement() noexcept;

// Slots of recorder.
int before_create(const char* path, int flags) noexcept;
void after_create(int fd) noexcept;

// After the open: reads the file's layout back and notes it for each of the settings in `wanted`.
void note_placement(const Placement& placement, const SettingList& wanted) noexcept;

}  // namespace iotune::tuner
