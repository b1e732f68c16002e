// A container that becomes an ordinary file in its own place, by one process or by many at once.
//
// One of them leads: begin(), then all call copy_share(), then the leader end(). Nobody may have
// the container open meanwhile, and nobody can open it: who tries waits, and then finds the file. A
// death at any moment leaves one of the two, whole, at the name or, where the file system cannot
// exchange names, beside it.
#pragma once

#include <memory>
#include <string>

#include "logstore/read/container_files.h"

namespace iotune::logstore {

class Flattening {
 public:
  // -EBUSY where somebody has it open; another -errno where it cannot become a file: it has lost
  // bytes, there is no room, the process may make no such file, there are no locks. Nothing has
  // changed then.
  static int begin(const std::string& path, std::unique_ptr<Flattening>& to) noexcept;
  ~Flattening();

  // The copy takes the container's name, with its mode, owner, times and attributes, and the
  // container goes; or, where `is_whole` is false, the copy goes. 0 or -errno, and the container
  // stays.
  int end(bool is_whole) noexcept;

 private:
  explicit Flattening(std::string path) : path_(std::move(path)) {}
  int lock();
  int make_copy();
  int take_name();

  std::string path_;
  std::string copy_;
  Descriptor directory_, writers_, openers_, file_;
  bool syncs_ = false;
};

// The pieces `rank`, `rank` + `ranks`, ... of the container's bytes, into the copy that is begun.
// 0 or -errno.
int copy_share(const std::string& path, int rank, int ranks) noexcept;

}  // namespace iotune::logstore
