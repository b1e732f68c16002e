// The user's database where its file system is not local: read once a run, by a process that is
// left behind where the home stops to answer, into memory of this one. A copy is never torn: on such
// a file system a database is changed by a rename (patterndb/store/network_file.h).
#pragma once

namespace iotune::tuner {

enum class Copy { kNotNeeded, kMade, kNone };

struct DatabaseCopy {
  Copy state;
  const char* path;  // of the copy; nullptr without one
};

// kNotNeeded: the database is local, not there yet, or such that it has to be opened where it is.
// kNone: it could not be read within 10 s. One thread at a time.
DatabaseCopy database_copy(const char* database) noexcept;

}  // namespace iotune::tuner
