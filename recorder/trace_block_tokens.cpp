#include "recorder/trace_block_tokens.h"

#include "patterns/bytes.h"
#include "patterns/tuple_loops.h"
#include "recorder/stream_values.h"

namespace iotune::recorder {
namespace {

using patterns::ByteReader;

// 18 digits fit into 64 bits in any case.
constexpr std::size_t kMostDigits = 18;

constexpr bool is_digit(std::byte b) noexcept {
  return b >= std::byte{'0'} && b <= std::byte{'9'};
}

class Tokenizer {
 public:
  Tokenizer(const TokenSpace& space, TraceBlockTokens& tokens) noexcept
      : space_(space), tokens_(tokens) {}

  bool failed() const noexcept { return failed_; }

  // Adds to the key what blocks of alike ranks have in common.
  void mix(std::uint64_t value) noexcept {
    tokens_.key = (tokens_.key ^ value) * 0x9e3779b97f4a7c15U;
    tokens_.key ^= tokens_.key >> 29U;
  }

  void add(TokenKind kind, std::uint64_t value) noexcept {
    if (tokens_.count == space_.values.size() || tokens_.count == space_.kinds.size()) {
      failed_ = true;
      return;
    }
    space_.values[tokens_.count] = value;
    space_.kinds[tokens_.count] = kind;
    ++tokens_.count;
    mix(static_cast<std::uint64_t>(kind));
  }
  void varint(std::uint64_t value) noexcept { add(TokenKind::kVarint, value); }
  void structural(std::uint64_t value) noexcept {
    varint(value);
    mix(value);
  }

  // Numbers within a text are tokens, except for numbers with leading zeros, which would lose
  // these.
  void text(std::span<const std::byte> bytes) noexcept {
    for (std::size_t i = 0; i < bytes.size();) {
      std::size_t digits = 0;
      std::uint64_t value = 0;
      if (bytes[i] != std::byte{'0'} || i + 1 == bytes.size() || !is_digit(bytes[i + 1])) {
        while (i + digits < bytes.size() && digits < kMostDigits && is_digit(bytes[i + digits])) {
          value = value * 10 + (std::to_integer<std::uint64_t>(bytes[i + digits]) - '0');
          ++digits;
        }
      }
      if (digits > 0) {
        add(TokenKind::kDecimal, value);
        i += digits;
      } else {
        add(TokenKind::kByte, std::to_integer<std::uint64_t>(bytes[i]));
        ++i;
      }
    }
  }

  // Tuples are encoded as varints throughout or, packed, as bits. Packed tuples have no pattern in
  // one rank, and so none over the ranks unless they are the same in all.
  void tuples(std::span<const std::byte> bytes) noexcept {
    ByteReader in(bytes);
    const TraceBlockTokens before = tokens_;
    while (in.bytes_left() > 0 && !in.failed() && !failed_) {
      const std::uint64_t value = in.varint();
      if (!in.failed()) varint(value);
    }
    if (!in.failed()) return;
    tokens_ = before;
    for (const std::byte b : bytes) {
      add(TokenKind::kByte, std::to_integer<std::uint64_t>(b));
      mix(std::to_integer<std::uint64_t>(b));
    }
  }

  void times(const SharedTimes& times) noexcept {
    if (tokens_.times == space_.times.size()) {
      failed_ = true;
      return;
    }
    space_.times[tokens_.times++] = times;
  }

  std::size_t count() const noexcept { return tokens_.count; }

 private:
  const TokenSpace& space_;
  TraceBlockTokens& tokens_;
  bool failed_ = false;
};

// FORMAT.md, "EVENTS".
class EventsTokenizer {
 public:
  EventsTokenizer(std::span<const std::byte> payload, Tokenizer& to) noexcept
      : payload_(payload), in_(payload), to_(to) {}

  bool run() noexcept {
    to_.structural(in_.varint());  // thread
    to_.structural(in_.varint());  // epoch
    to_.varint(in_.varint());      // calls
    base_ = in_.varint();
    const std::uint64_t streams = in_.varint();
    to_.structural(streams);
    for (std::uint64_t i = 0; i < streams && !in_.failed() && !to_.failed(); ++i) stream();
    order();
    to_.varint(0);  // calls with times of their own: what follows is left out
    return !in_.failed() && !to_.failed();
  }

 private:
  std::span<const std::byte> take(std::uint64_t size) noexcept {
    return in_.take(size > in_.bytes_left() ? in_.bytes_left() + 1 : size);
  }

  void stream() noexcept {
    const std::uint64_t name_bytes = in_.varint();
    to_.structural(name_bytes);
    for (const std::byte b : take(name_bytes)) {
      to_.add(TokenKind::kByte, std::to_integer<std::uint64_t>(b));
      to_.mix(std::to_integer<std::uint64_t>(b));
    }
    to_.structural(in_.varint() & ~kEveryTimeExact);
    const std::uint64_t keys = in_.varint();
    to_.structural(keys);
    for (std::uint64_t i = 0; i < keys && !in_.failed() && !to_.failed(); ++i) {
      to_.varint(in_.varint());
    }
    const std::uint64_t text_bytes = in_.varint();
    to_.varint(text_bytes);
    to_.text(take(text_bytes));
    const std::uint64_t numbers = in_.varint(), calls = in_.varint();
    to_.structural(numbers);
    to_.varint(calls);
    in_.varint();
    to_.varint(0);  // calls with times of their own
    SharedTimes times{};
    times.before_token = to_.count();
    times.first_start = base_ + in_.varint();
    times.last_end = times.first_start + in_.varint();
    times.sum = in_.varint();
    times.least = in_.varint();
    times.largest = in_.varint();
    to_.times(times);
    if (numbers > 0 && !in_.failed()) values(numbers, calls);
  }

  void values(std::uint64_t numbers, std::uint64_t calls) noexcept {
    const std::uint8_t form = in_.u8();
    to_.structural(form);
    if (numbers > UINT32_MAX || calls > UINT32_MAX || form > kValuesAsRuns) return in_.fail();
    if (form == kValuesAsTuples) {
      if (numbers <= patterns::kMaxDims) return tuples(calls, static_cast<unsigned>(numbers));
      return tuples(calls * numbers, 1);
    }
    const std::uint64_t runs = in_.varint();
    to_.varint(runs);
    if (2 * numbers + 1 > patterns::kMaxDims) return in_.fail();
    tuples(runs, static_cast<unsigned>(2 * numbers + 1));
  }

  void order() noexcept {
    const std::uint64_t turns = in_.varint();
    to_.varint(turns);
    for (std::uint64_t i = 0; i < turns && !in_.failed() && !to_.failed(); ++i) {
      const std::uint64_t streams = in_.varint();
      to_.varint(streams);
      for (std::uint64_t k = 0; k < streams && !in_.failed() && !to_.failed(); ++k) {
        to_.varint(in_.varint());
      }
    }
    const std::uint64_t pairs = in_.varint();
    to_.varint(pairs);
    if (ByteReader(in_).u8() != kOrderAsSurprises) return tuples(pairs, 2);
    to_.structural(in_.u8());
    const std::uint64_t surprises = in_.varint();
    to_.varint(surprises);
    tuples(surprises, 3);
  }

  void tuples(std::uint64_t n, unsigned dims) noexcept {
    const std::size_t from = in_.bytes_used();
    if (!patterns::skip_tuples(in_, n, dims)) return;
    to_.tuples(payload_.subspan(from, in_.bytes_used() - from));
  }

  std::span<const std::byte> payload_;
  ByteReader in_;
  Tokenizer& to_;
  std::uint64_t base_ = 0;
};

}  // namespace

bool tokens_of_block(BlockType type, std::span<const std::byte> payload, std::uint64_t ordinal,
                     const TokenSpace& space, TraceBlockTokens& tokens) noexcept {
  tokens = {};
  Tokenizer to(space, tokens);
  to.mix(static_cast<std::uint64_t>(type));
  if (type == BlockType::kEvents) return EventsTokenizer(payload, to).run();
  to.mix(ordinal);
  to.text(payload);
  return !to.failed();
}

}  // namespace iotune::recorder
