// What a call's meaning (recorder/call_meaning.h) is to the analyzer, found once for all its calls.
#pragma once

#include <cstdint>
#include <optional>

#include "recorder/call_table.h"
#include "recorder/read/call.h"

namespace iotune::analyzer {

struct CallFacts {
  using Note = recorder::Thing;

  bool writes;          // a transfer into a file
  bool collective;      // a transfer of all ranks together
  bool closes_file;     // or a directory
  bool untimed;         // nobody knows how long its bytes took
  bool runs_program;    // the program's own code has its calls inside
  bool waits_for_note;  // opens a file: iotune_file follows and says which
  // HDF5:
  bool makes_dataset, opens_dataset;
  bool makes_file;     // an empty one
  bool has_file;       // its handles are ids in a file: dataspaces and property lists have none,
                       // and types mostly are in memory alone
  bool of_dataset;     // its handle may be a dataset's, as may that of …
  bool of_object;      // … one on any object
  bool makes_object;   // the result is an id below the file of its handle
  bool closes_object;  // its handle is no id any more
  Note note;           // pseudo calls: what is noted; kNone elsewhere
  // Of calls on a file of MPI-IO:
  enum class MpiFile : std::uint8_t { kOther, kOpen, kClose, kSetView, kSeek };
  MpiFile mpi_file;
  bool explicit_offset, shared_pointer;
};

// `signature` must stand in recorder::call_table().
const CallFacts& facts_of(const recorder::CallSignature& signature);

// What stands in a call's numbers as its handle; nothing for one on a list of handles, or a
// descriptor, which is a key. The call must have a signature.
std::optional<std::int64_t> handle_of(const recorder::Call& call);

}  // namespace iotune::analyzer
