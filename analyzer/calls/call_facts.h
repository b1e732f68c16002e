// What the name of a call says of it, found once for all its calls.
#pragma once

#include <cstdint>

#include "recorder/call_table.h"

namespace iotune::analyzer {

struct CallFacts {
  enum class Note : std::uint8_t {
    kNone,
    kFile,
    kDataset,
    kView,
    kDecision,
    kDecisionAgain,
    kSetting,
    kPrefetch,
    kSampledOut
  };

  bool writes;
  bool closes_file;
  bool untimed;         // nobody knows how long its bytes took
  bool runs_program;    // the program's own code has its calls inside
  bool waits_for_note;  // opens a file: iotune_file follows and says which
  bool makes_dataset, opens_dataset;
  bool makes_file;     // HDF5: an empty one
  bool makes_object;   // HDF5: the result is an id below the file of the first argument
  bool closes_object;  // HDF5
  bool asynchronous;   // HDF5: what others have first stands behind three more arguments
  char hdf5_kind;      // F, D, G …; NUL elsewhere
  Note note;           // pseudo calls
  // Of calls on a file of MPI-IO:
  enum class MpiFile : std::uint8_t { kOther, kOpen, kClose, kSetView, kSeek };
  MpiFile mpi_file;
  bool explicit_offset, shared_pointer;
  // Where among the call's numbers a word stands; kNoPlace where it has none, or none that is
  // fixed.
  static constexpr std::int8_t kNoPlace = -1;
  std::int8_t file_place, offset_place, result_place, type_bytes_place;
};

// `signature` must stand in recorder::call_table().
const CallFacts& facts_of(const recorder::CallSignature& signature);

}  // namespace iotune::analyzer
