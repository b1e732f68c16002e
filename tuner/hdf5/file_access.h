// Settings that live in an HDF5 file access property list.
#pragma once

#include "core/abi/hdf5_api.h"
#include "tuner/decision/packed_decision.h"
#include "tuner/decision/program_settings.h"
#include "tuner/opens/call_attempts.h"

namespace iotune::tuner {

// What the program opens a file for.
struct FileOpening {
  bool creating;
  bool only_reads;  // no write can follow
};

// Whether anything of the decision is of this layer, the program's own settings aside.
bool concerns_file_access(const Decision& decision) noexcept;

// Adds what set_file_access would set.
void add_file_access(const Hdf5Api& api, const ListSettings& program, const Decision& decision,
                     const FileOpening& opening, CallAttempts& attempts) noexcept;

// Sets on `fapl`, a copy of the program's list, what the decision names, the program did not set
// and the attempt does not leave out. Local. False where HDF5 refused one: the copy is then not to
// be used.
bool set_file_access(const Hdf5Api& api, Hid fapl, const ListSettings& program,
                     const Decision& decision, const FileOpening& opening,
                     const CallAttempts& attempts) noexcept;

// A text of all that set_file_access would do, for ranks to compare.
std::uint64_t hash_file_access(const Hdf5Api& api, std::uint64_t hash, const ListSettings& program,
                               const Decision& decision, const FileOpening& opening) noexcept;

// Reads back from the open file and notes each setting. `opened`: its access list.
void note_file_access(const Hdf5Api& api, Hid file, Hid opened, const char* path,
                      const ListSettings& program, const Decision& decision,
                      const FileOpening& opening, const CallAttempts& attempts) noexcept;

}  // namespace iotune::tuner
