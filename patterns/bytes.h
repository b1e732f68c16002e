// Reading and writing bytes in memory that somebody else owns. Everything that
// iotune puts into a file goes through these two classes, so that a full buffer
// or a damaged file is a flag and never a stray store or load.
//
// Integers are little-endian whatever the machine. A varint is LEB128 of an
// unsigned 64-bit value, 1 to 10 bytes; an svarint is the varint of the zigzag
// form (0, -1, 1, -2, … become 0, 1, 2, 3, …).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace iotune::patterns {

inline constexpr std::size_t kMaxVarintBytes = 10;

constexpr std::uint64_t zigzag(std::int64_t value) noexcept {
  const auto bits = static_cast<std::uint64_t>(value);
  return (bits << 1U) ^ (0U - (bits >> 63U));
}

constexpr std::int64_t unzigzag(std::uint64_t code) noexcept {
  return static_cast<std::int64_t>((code >> 1U) ^ (0U - (code & 1U)));
}

constexpr std::size_t varint_bytes(std::uint64_t value) noexcept {
  return (static_cast<std::size_t>(std::bit_width(value | 1U)) + 6) / 7;
}

// The buffer must outlive the writer. A call that does not fit writes nothing at
// all, sets overflowed(), and from then on every call writes nothing.
class ByteWriter {
 public:
  explicit ByteWriter(std::span<std::byte> buffer) noexcept
      : start_(buffer.data()), next_(start_), end_(start_ + buffer.size()) {}

  void u8(std::uint8_t value) noexcept {
    if (fits(1)) *next_++ = static_cast<std::byte>(value);
  }
  void u32le(std::uint32_t value) noexcept { fixed<4>(value); }
  void u64le(std::uint64_t value) noexcept { fixed<8>(value); }

  void varint(std::uint64_t value) noexcept {
    if (bytes_left() < kMaxVarintBytes && !fits(varint_bytes(value))) return;
    if (overflowed_) return;
    while (value >= 0x80U) {
      *next_++ = static_cast<std::byte>(value | 0x80U);
      value >>= 7U;
    }
    *next_++ = static_cast<std::byte>(value);
  }
  void svarint(std::int64_t value) noexcept { varint(zigzag(value)); }

  void raw(const void* bytes, std::size_t size) noexcept {
    if (size == 0 || !fits(size)) return;
    std::memcpy(next_, bytes, size);
    next_ += size;
  }

  // Room for `size` bytes that the caller fills; nullptr where there is no more.
  std::byte* claim(std::size_t size) noexcept {
    if (!fits(size)) return nullptr;
    next_ += size;
    return next_ - size;
  }

  std::size_t bytes_used() const noexcept { return static_cast<std::size_t>(next_ - start_); }
  std::size_t bytes_left() const noexcept { return static_cast<std::size_t>(end_ - next_); }
  std::span<const std::byte> written() const noexcept { return {start_, bytes_used()}; }
  bool overflowed() const noexcept { return overflowed_; }

  // A place to come back to: rewind() takes back whatever was written after
  // mark(), an overflow included.
  struct Mark {
    std::byte* next;
    bool overflowed;
  };
  Mark mark() const noexcept { return {next_, overflowed_}; }
  void rewind(Mark to) noexcept {
    next_ = to.next;
    overflowed_ = to.overflowed;
  }

 private:
  bool fits(std::size_t size) noexcept {
    if (overflowed_ || bytes_left() < size) overflowed_ = true;
    return !overflowed_;
  }
  template <unsigned Size>
  void fixed(std::uint64_t value) noexcept {
    if (!fits(Size)) return;
    for (unsigned i = 0; i < Size; ++i) *next_++ = static_cast<std::byte>(value >> (8U * i));
  }

  std::byte* start_;
  std::byte* next_;
  std::byte* end_;
  bool overflowed_ = false;
};

// The bytes must outlive the reader. A read past the end, or of something that
// ByteWriter would not have written, sets failed(); from then on every read
// yields zero and moves nothing, so that a decoder may check once per loop
// instead of once per value. Copies are independent.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) noexcept
      : start_(bytes.data()), next_(start_), end_(start_ + bytes.size()) {}

  std::uint8_t u8() noexcept { return static_cast<std::uint8_t>(fixed<1>()); }
  std::uint32_t u32le() noexcept { return static_cast<std::uint32_t>(fixed<4>()); }
  std::uint64_t u64le() noexcept { return fixed<8>(); }

  // An over-long form (a last group of zero, or bits past 64) is damage: equal
  // values have equal bytes.
  std::uint64_t varint() noexcept {
    std::uint64_t value = 0;
    const std::byte* at = next_;
    for (unsigned shift = 0; shift < 64U && !failed_ && at != end_; shift += 7U) {
      const auto group = static_cast<std::uint64_t>(*at++);
      value |= (group & 0x7fU) << shift;
      if (group >= 0x80U) continue;
      if ((group == 0 && shift != 0) || (shift == 63U && group > 1U)) break;
      next_ = at;
      return value;
    }
    failed_ = true;
    return 0;
  }
  std::int64_t svarint() noexcept { return unzigzag(varint()); }

  // `size` bytes without a copy; empty on failure.
  std::span<const std::byte> take(std::size_t size) noexcept {
    if (!has(size)) return {};
    next_ += size;
    return {next_ - size, size};
  }
  bool raw(void* to, std::size_t size) noexcept {
    if (!has(size)) return false;
    if (size != 0) std::memcpy(to, next_, size);
    next_ += size;
    return true;
  }

  std::size_t bytes_used() const noexcept { return static_cast<std::size_t>(next_ - start_); }
  std::size_t bytes_left() const noexcept { return static_cast<std::size_t>(end_ - next_); }
  bool failed() const noexcept { return failed_; }
  // For decoders that find a well-formed value out of its range.
  void fail() noexcept { failed_ = true; }

 private:
  bool has(std::size_t size) noexcept {
    if (failed_ || bytes_left() < size) failed_ = true;
    return !failed_;
  }
  template <unsigned Size>
  std::uint64_t fixed() noexcept {
    if (!has(Size)) return 0;
    std::uint64_t value = 0;
    for (unsigned i = 0; i < Size; ++i) value |= static_cast<std::uint64_t>(*next_++) << (8U * i);
    return value;
  }

  const std::byte* start_;
  const std::byte* next_;
  const std::byte* end_;
  bool failed_ = false;
};

}  // namespace iotune::patterns
