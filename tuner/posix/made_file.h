// Whether a call of ours made a file that was not there: only such a file may be removed.
#pragma once

#include <sys/types.h>

namespace iotune::tuner {

// Of one call: what `watch` was given, and whether an open of this thread has made it since, by
// O_CREAT | O_EXCL.
struct MadeFile {
  char path[4096];
  dev_t device;
  ino_t number;
  bool opening, made;
};

void watch(const char* path, MadeFile& file) noexcept;
void unwatch() noexcept;

// Slots of recorder, around each open that may make a file.
void watch_before_create(const char* path, int flags) noexcept;
void watch_after_create(int fd) noexcept;

// Removes the file where it is still the one that was made, and forgets it. False where none was.
bool remove_made(MadeFile& file) noexcept;

}  // namespace iotune::tuner
