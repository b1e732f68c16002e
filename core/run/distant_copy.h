// A file of ours where its file system is not local: read once a run, by a process that is left
// behind where the server stops to answer, into memory of this one.
#pragma once

namespace iotune {

enum class Copy { kNotNeeded, kMade, kNone };

struct DistantCopy {
  Copy state;
  const char* path;  // of the copy; nullptr without one
};

// Of the first file that is asked for, later calls get the same. kNotNeeded: it is local, not there
// yet, or such that it has to be opened where it is. kNone: it could not be read within 10 s. One
// thread at a time. A database is never copied torn: on such a file system it is changed by a
// rename (patterndb/store/network_file.h).
DistantCopy distant_copy(const char* file) noexcept;

}  // namespace iotune
