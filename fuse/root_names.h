// Files below the root, found by name. The kernel has followed every link of a path before it asks:
// a link that stands there now was put there beside the mount, and is not followed by a process
// that may be root's. It is ESTALE then, and the kernel looks once more.
#pragma once

#include <sys/types.h>

#include <string>

#include "core/files/descriptor.h"

namespace iotune::fuse {

// As open(2).
int open_real(const std::string& real, int flags, mode_t mode = 0);

// The file that has the name now: none that takes its place is meant.
class HeldFile {
 public:
  explicit HeldFile(const std::string& real);
  // Below a folder that is held.
  HeldFile(int folder, const char* name);

  bool is_there() const { return bool{fd_}; }  // else errno says why
  int fd() const { return fd_.get(); }         // O_PATH
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd()); }

 private:
  Descriptor fd_;
};

// A name in its folder, which is held.
class NameInFolder {
 public:
  explicit NameInFolder(const std::string& real);

  bool is_there() const { return folder_.is_there(); }  // the folder; else errno says why
  int folder() const { return folder_.fd(); }
  const char* name() const { return name_.c_str(); }

 private:
  HeldFile folder_;
  std::string name_;
};

}  // namespace iotune::fuse
