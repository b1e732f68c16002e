// Settings that live in an HDF5 file access property list.
#pragma once

#include "recorder/preload/hdf5_api.h"
#include "tuner/call_attempts.h"
#include "tuner/decision_block.h"
#include "tuner/program_settings.h"

namespace iotune::tuner {

// Whether anything of the decision is of this layer, the program's own settings aside.
bool concerns_file_access(const Decision& decision) noexcept;

// Adds what set_file_access would set.
void add_file_access(const ListSettings& program, const Decision& decision, bool creating,
                     CallAttempts& attempts) noexcept;

// Sets on `fapl`, a copy of the program's list, what the decision names, the program did not set
// and the attempt does not leave out. Local. False where HDF5 refused one: the copy is then not to
// be used.
bool set_file_access(const recorder::Hdf5Api& api, recorder::Hid fapl, const ListSettings& program,
                     const Decision& decision, bool creating,
                     const CallAttempts& attempts) noexcept;

// A text of all that set_file_access would do, for ranks to compare.
std::uint64_t hash_file_access(std::uint64_t hash, const ListSettings& program,
                               const Decision& decision, bool creating) noexcept;

// Reads back from the access list of the open file and notes each setting. `opened`: that list.
void note_file_access(const recorder::Hdf5Api& api, recorder::Hid opened, const char* path,
                      const ListSettings& program, const Decision& decision, bool creating,
                      const CallAttempts& attempts) noexcept;

}  // namespace iotune::tuner
