#include "patterns/crc32c.h"

#include <array>

namespace iotune::patterns {
namespace {

using Table = std::array<std::uint32_t, 256>;

// tables[k][b]: what byte b does to the remainder k bytes later.
constexpr std::array<Table, 8> make_tables() noexcept {
  std::array<Table, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) {
      remainder = (remainder >> 1U) ^ ((remainder & 1U) != 0 ? 0x82f63b78U : 0U);
    }
    tables[0][byte] = remainder;
  }
  for (std::size_t k = 1; k < tables.size(); ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8U) ^ tables[0][before & 0xffU];
    }
  }
  return tables;
}

constexpr std::array<Table, 8> kTables = make_tables();

}  // namespace

// Eight bytes a step, so that their look-ups do not wait for each other.
std::uint32_t crc32c(const void* bytes, std::size_t size, std::uint32_t seed) noexcept {
  const auto* at = static_cast<const unsigned char*>(bytes);
  std::uint32_t crc = ~seed;
  for (; size >= 8; size -= 8, at += 8) {
    const std::uint32_t low = crc ^ (std::uint32_t{at[0]} | std::uint32_t{at[1]} << 8U |
                                     std::uint32_t{at[2]} << 16U | std::uint32_t{at[3]} << 24U);
    crc = kTables[7][low & 0xffU] ^ kTables[6][low >> 8U & 0xffU] ^ kTables[5][low >> 16U & 0xffU] ^
          kTables[4][low >> 24U] ^ kTables[3][at[4]] ^ kTables[2][at[5]] ^ kTables[1][at[6]] ^
          kTables[0][at[7]];
  }
  for (; size > 0; --size, ++at) crc = (crc >> 8U) ^ kTables[0][(crc ^ *at) & 0xffU];
  return ~crc;
}

}  // namespace iotune::patterns
