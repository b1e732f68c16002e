// A block of a trace as a sequence of numbers ("tokens"), so that the blocks of ranks which did
// the same differ in a few of them only. Part of the preload: libc, no memory of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "recorder/format.h"

namespace iotune::recorder {

// How a token stands in the block: as varint, as one byte, as decimal digits.
enum class TokenKind : std::uint8_t { kVarint, kByte, kDecimal };
inline constexpr unsigned kTokenKinds = 3;

// The times of a stream. Of several ranks: the earliest start, the latest end, the sum of all,
// the least and the largest; ns after the process's start.
struct SharedTimes {
  std::uint64_t before_token;
  std::uint64_t first_start, last_end, sum, least, largest;
};

// Of an EVENTS block: its base stands before this token, and follows from the streams' times.
inline constexpr std::size_t kBaseToken = 3;

struct TokenSpace {
  std::span<std::uint64_t> values;
  std::span<TokenKind> kinds;  // as many as values
  std::span<SharedTimes> times;
};

struct BlockTokens {
  std::size_t count = 0;
  std::size_t times = 0;
  // Equal for blocks that are alike: of one type, thread and epoch, with the same functions. A
  // collision costs room and nothing else.
  std::uint64_t key = 0;
};

// Takes a block apart. Times of single calls are left out, and a stream's own are kept beside the
// tokens. `ordinal` tells blocks of one type apart. False where the payload is damaged or the
// space too small: a token per byte of payload and a stream per 8 bytes are enough.
bool tokens_of_block(BlockType type, std::span<const std::byte> payload, std::uint64_t ordinal,
                     const TokenSpace& space, BlockTokens& tokens) noexcept;

}  // namespace iotune::recorder
