// The hints that the user named for every file: these are the user's, whatever a database says.
#pragma once

#include <cstddef>

namespace iotune::tuner {

class UserHints {
 public:
  // A ROMIO hints file: "name value" a line, # starts a comment. False where it cannot be opened.
  bool add_file(const char* path) noexcept;
  // MPICH_MPIIO_HINTS: "glob:name=value:name=value,glob:…". The names count for every file.
  void add_variable(const char* text) noexcept;
  void add(const char* name, std::size_t bytes) noexcept;
  // True of every hint where not all names could be read, or kept.
  bool has(const char* name) const noexcept;
  void clear() noexcept { *this = {}; }

 private:
  static constexpr std::size_t kMostBytes = 4096, kMostNameBytes = 64;

  bool find(const char* name, std::size_t bytes) const noexcept;

  char names_[kMostBytes] = {};  // "name\nname\n"
  std::size_t used_ = 0;
  bool all_ = false;
};

}  // namespace iotune::tuner
