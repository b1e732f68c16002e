// Numbers for the datasets that this process has open, by (provider, id): three HDF5 libraries
// in one process hand out the same ids.
#pragma once

#include <cstdint>

namespace iotune::recorder {

// 0: not known.
std::int64_t find_object(std::uint16_t provider, std::int64_t id) noexcept;

// A new number for it. The same dataset opened again gets another one; the analyzer joins
// them by name.
std::int64_t add_object(std::uint16_t provider, std::int64_t id) noexcept;

void forget_object(std::uint16_t provider, std::int64_t id) noexcept;

// The provider has left, its objects with it.
void forget_objects_of(std::uint16_t provider) noexcept;

bool knows_no_objects() noexcept;

// For files, across all layers.
std::int64_t next_file_number() noexcept;

}  // namespace iotune::recorder
