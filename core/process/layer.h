// The layers of I/O that a program calls, the upper ones first. The numbers stand in traces.
#pragma once

#include <cstdint>

namespace iotune {

enum class Layer : std::uint8_t { kHdf5 = 0, kMpiIo = 1, kStdio = 2, kPosix = 3, kIotune = 4 };

// Of a set of layers.
constexpr std::uint8_t bit_of(Layer layer) noexcept {
  return static_cast<std::uint8_t>(1u << static_cast<unsigned>(layer));
}

}  // namespace iotune
