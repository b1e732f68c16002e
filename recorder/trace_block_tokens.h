// Takes a block of a trace apart into a sequence of numbers ("tokens"). The blocks of ranks that
// did the same then differ in a few tokens only. Part of the preload: libc, no memory of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "recorder/format.h"

namespace iotune::recorder {

// How the block encodes a token: as varint, as one byte, as decimal digits.
enum class TokenKind : std::uint8_t { kVarint, kByte, kDecimal };
inline constexpr unsigned kTokenKinds = 3;

// The times of a stream over several ranks: the earliest start and the latest end, in ns after the
// process's start, and the sum, the least and the largest of the calls' durations, in ns.
struct SharedTimes {
  std::uint64_t before_token;
  std::uint64_t first_start, last_end, sum, least, largest;
};

// The base of an EVENTS block stands before this token. It is no token: it follows from the times.
inline constexpr std::size_t kBaseToken = 3;

struct TokenSpace {
  std::span<std::uint64_t> values;
  std::span<TokenKind> kinds;  // as many as values
  std::span<SharedTimes> times;
};

struct TraceBlockTokens {
  std::size_t count = 0;
  std::size_t times = 0;
  // Equal for blocks that may be merged: of one type, thread and epoch, with the same functions. A
  // collision costs room and nothing else.
  std::uint64_t key = 0;
};

// Takes a block apart. Times of single calls are left out; those of a stream are kept beside the
// tokens. `ordinal` tells blocks of one type apart. False where the payload is damaged or the space
// too small: a token for each byte of payload and a stream for 8 bytes are enough.
bool tokens_of_block(BlockType type, std::span<const std::byte> payload, std::uint64_t ordinal,
                     const TokenSpace& space, TraceBlockTokens& tokens) noexcept;

}  // namespace iotune::recorder
