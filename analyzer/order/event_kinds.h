// Which calls are ordering events. Between two events of a process lies a segment: happens_before
// reckons with segments, access_reader says which one an access is in, so both ask here.
#pragma once

#include <cstdint>

#include "recorder/read/call.h"

namespace iotune::analyzer {

enum class EventKind : std::uint8_t {
  kNone,        // no event
  kOpen,        // opens or creates a file, at any layer
  kClose,       // closes a file, at any layer
  kSync,        // all of a file's data reach the storage (fsync, fdatasync, MPI_File_sync)
  kFlush,       // data of a file go on from a buffer (fflush, H5Fflush, msync)
  kCollective,  // another call on a file that all ranks make together, and no transfer
  kLock,        // takes a lock of a file or gives it back
  kProcess,     // fork, wait, exec
  kMpi          // any call of MPI that is not about a file: messages, collectives, communicators
};

// The kind of a call that has a signature; kNone for all others.
EventKind event_kind(const recorder::Call& call);

// The same of all calls of a function, but that fcntl is said to be a lock.
EventKind event_kind_of(const recorder::CallSignature& signature);
// Whether the numbers of a call say what it is: event_kind has to be asked for each.
bool is_event_by_numbers(const recorder::CallSignature& signature);

}  // namespace iotune::analyzer
