// What the program and its user have set themselves, which nothing of ours overrides. A fresh
// property list and one that was set to the default value look the same: only having seen the
// call tells.
#pragma once

#include <cstdint>

#include "core/abi/mpi_api.h"
#include "core/link/real_function.h"
#include "recorder/call_numbers.h"
#include "recorder/hooks/decisions.h"

namespace iotune::tuner {

// Bits of ListSettings::set_by_program.
enum ProgramSet : std::uint32_t {
  kSetAlignment = 1,
  kSetMetaBlockSize = 2,
  kSetSieveBufSize = 4,
  kSetCache = 8,
  kSetCollMetadataWrite = 16,
  kSetChunkCache = 32,
  kSetLayout = 64,
  kSetLibverBounds = 128,
  kSetPageBuffer = 256,
  kSetMetadataCache = 512,
  kSetEvictOnClose = 1024,
};

// Of one property list (or open file, whose access list can be asked for).
struct ListSettings {
  std::uint32_t set_by_program;
  bool mpio;
  std::int64_t driver;  // of the list when H5Pset_fapl_mpio was seen
  Word private_comm;    // comm_null: none, the file is left alone
  Word info;            // a copy of the program's hints, or info_null
};

// Copies; all zero for a list that was never seen.
ListSettings settings_of(const Provider& hdf5, std::int64_t id) noexcept;
void store_settings(const Provider& hdf5, std::int64_t id, const ListSettings& settings) noexcept;
// For another id, with a copy of the hints of its own.
void inherit_settings(const Provider& hdf5, std::int64_t id, const ListSettings& settings) noexcept;
void forget_settings(const Provider& hdf5, std::int64_t id) noexcept;

// The program has freed the communicator that `comm` was made of: files of lists that name it
// are left alone. The same on all ranks, because the free is collective.
void forget_communicator(Word comm) noexcept;

// Follows H5Pset_*, H5Pcopy, H5Pclose, H5Fget_access_plist and H5Fclose.
void follow_property_call(Provider& hdf5, recorder::CallNumber call, const std::int64_t* words,
                          int count) noexcept;

// True where ROMIO_HINTS (else /etc/romio-hints), MPICH_MPIIO_HINTS or an MCA parameter names the
// hint. Parsed once.
bool user_hints_name(const char* hint) noexcept;

}  // namespace iotune::tuner
