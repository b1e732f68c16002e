// Settings that live in an HDF5 file access property list.
#pragma once

#include "recorder/preload/hdf5_api.h"
#include "tuner/decision_block.h"
#include "tuner/program_settings.h"

namespace iotune::tuner {

// Whether anything of the decision is of this layer, the program's own settings aside.
bool concerns_file_access(const Decision& decision) noexcept;

// Sets on `fapl`, a copy of the program's list, what the decision names and the program did
// not set. Local. False where HDF5 refused one: the copy is then not to be used.
bool set_file_access(const recorder::Hdf5Api& api, recorder::Hid fapl, const ListSettings& program,
                     const Decision& decision, bool creating) noexcept;

// A text of all that set_file_access would do, for ranks to compare.
std::uint64_t hash_file_access(std::uint64_t hash, const ListSettings& program,
                               const Decision& decision, bool creating) noexcept;

// Reads back from the access list of the open file and notes each setting. `opened`: that list.
void note_file_access(const recorder::Hdf5Api& api, recorder::Hid opened, const char* path,
                      const ListSettings& program, const Decision& decision,
                      bool creating) noexcept;

}  // namespace iotune::tuner
