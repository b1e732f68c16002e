// Where the program has mapped traced files, so that msync and munmap are known to be about them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace iotune::recorder {

struct FileMapping {
  std::uintptr_t address;
  std::size_t bytes;
  int fd;              // by which it was mapped; may be closed since
  std::uint32_t file;  // 0: none
};

// Of more than kMostMappings at a time the later ones are not known.
inline constexpr int kMostMappings = 256;
void note_mapping(std::uintptr_t address, std::size_t bytes, int fd, std::uint32_t file) noexcept;

// The mapping that holds the address; file 0 where there is none.
FileMapping mapping_at(std::uintptr_t address) noexcept;

// Mappings that lie within these bytes are gone; of others a part may be, and the rest is known.
void forget_mapping(std::uintptr_t address, std::size_t bytes) noexcept;

}  // namespace iotune::recorder
