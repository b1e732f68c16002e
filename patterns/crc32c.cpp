#include "patterns/crc32c.h"

#include <array>

namespace iotune::patterns {
namespace {

constexpr std::array<std::uint32_t, 256> make_table() noexcept {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) {
      remainder = (remainder >> 1U) ^ ((remainder & 1U) != 0 ? 0x82f63b78U : 0U);
    }
    table[byte] = remainder;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> kTable = make_table();

}  // namespace

std::uint32_t crc32c(const void* bytes, std::size_t size, std::uint32_t seed) noexcept {
  const auto* at = static_cast<const unsigned char*>(bytes);
  std::uint32_t crc = ~seed;
  for (std::size_t i = 0; i < size; ++i) crc = (crc >> 8U) ^ kTable[(crc ^ at[i]) & 0xffU];
  return ~crc;
}

}  // namespace iotune::patterns
