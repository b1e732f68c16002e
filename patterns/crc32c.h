// The checksum of iotune's blocks: CRC-32C (Castagnoli, reflected polynomial
// 0x82f63b78), in software so that it is the same code on every machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace iotune::patterns {

// `seed` is 0 for a first piece, or the value returned for the bytes before:
// crc32c(b, nb, crc32c(a, na)) is the checksum of a followed by b.
std::uint32_t crc32c(const void* bytes, std::size_t size, std::uint32_t seed = 0) noexcept;

}  // namespace iotune::patterns
