// A table of fixed size in a file that this user's processes on the node share: found or made,
// checked, and mapped. Who has which part of it, and how the parts of the dead are taken back, is
// the table's own affair: a thread that makes requests ends with an exec, descriptors do not.
#pragma once

#include <cstddef>
#include <cstdint>

namespace iotune::prefetch {

struct SharedTable {
  void* memory = nullptr;       // nullptr: it cannot be had
  const char* fault = nullptr;  // then: why, as the end of "…: its table …"
  std::uint64_t device = 0, inode = 0;
};

enum class TableStorage : std::uint8_t { kLocal, kMemoryAlone };

// All zero where it is new, and where no other process has it mapped and `is_spent` says that it
// should begin anew: what the dead have left there, in whatever space of process ids, nobody takes
// back any more. The path's folder is private; the file has to be, too.
SharedTable map_shared_table(const char* path, std::size_t bytes, TableStorage storage,
                             bool (*is_spent)(const void* memory) noexcept) noexcept;

// The kernel's number of a device, from its two parts.
constexpr std::uint64_t device_number(std::uint32_t major, std::uint32_t minor) noexcept {
  return std::uint64_t{major} << 32 | minor;
}

}  // namespace iotune::prefetch
