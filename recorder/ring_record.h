// A record of a ring in place (FORMAT.md, "Record in a ring").
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "recorder/format.h"

namespace iotune::recorder {

// Calls that went on as the last `period` records of the ring did, counted (FORMAT.md, "Repeat in
// a ring"). Leaf i follows the i-th of those records. Leaves lie one behind the other, each with a
// stride for every number of its record behind it.
struct RepeatHead {
  std::uint32_t bytes;
  std::uint16_t function;  // kRepeatFunction
  std::uint8_t layers, period;
  std::uint64_t calls, zero, counts;
};
struct RepeatLeaf {
  std::uint64_t numbers;
  std::uint64_t sum_ticks, least_ticks, largest_ticks, last_end_ticks;
};
static_assert(sizeof(RepeatHead) == kRecordHeadBytes && sizeof(RepeatLeaf) == 40);

// Calls of the stream of the record before, by their numbers alone (FORMAT.md, "List in a ring"):
// what repeats nothing, in a third or a ninth of the room.
struct ListHead {
  std::uint32_t bytes;
  std::uint16_t function;  // kListFunction
  std::uint8_t layers;
  std::uint8_t listed;  // 0: all three numbers of a call; k: its k-th alone moves
  std::uint64_t calls, sum_ticks, counts, least_ticks, largest_ticks, last_end_ticks;
};
inline constexpr std::size_t kListHeadBytes = 56;
constexpr std::size_t list_call_bytes(unsigned listed) noexcept {
  return listed == 0 ? 24 : 8;
}
static_assert(sizeof(ListHead) == kListHeadBytes);

inline constexpr std::uint16_t kRepeatFunction = 0xffff, kListFunction = 0xfffe;
inline constexpr unsigned kMostLeaves = 8;
// Keys and numbers of a record that repeats may follow.
inline constexpr unsigned kMostRepeatedWords = 64;
// In all of a ring: who reads a trace needs bounded memory for each block. A call costs one for
// every three numbers, or part of three.
inline constexpr std::int32_t kMostRepeated = 1 << 20;
constexpr std::int32_t cost_of_repeated(std::size_t numbers) noexcept {
  return numbers <= 3 ? 1 : static_cast<std::int32_t>((numbers + 2) / 3);
}
constexpr std::size_t leaf_bytes(std::size_t numbers) noexcept {
  return sizeof(RepeatLeaf) + 8 * numbers;
}

static_assert(std::endian::native == std::endian::little, "rings are read as they lie in memory");

// A view: the bytes must outlive it. Loads by memcpy, because a buffer of a dead process may
// hold anything at any address.
class RingRecord {
 public:
  // False where `bytes` does not begin with a whole record. `functions`: their number in the
  // table that the record was written with.
  bool read(std::span<const std::byte> bytes, std::size_t functions) noexcept {
    if (bytes.data() == nullptr || bytes.size() < kRecordHeadBytes) return false;
    at_ = bytes.data();
    std::memcpy(&size_, at_, 4);
    std::memcpy(&function_, at_ + 4, 2);
    std::memcpy(&keys_, at_ + 24, 2);
    std::memcpy(&numbers_, at_ + 26, 2);
    std::memcpy(&text_bytes_, at_ + 28, 4);
    if (is_list()) {
      if (size_ != kListHeadBytes || size_ > bytes.size() || listed() > 3) return false;
      // A list grows in place: what is published of it counts.
      const std::size_t call_bytes = list_call_bytes(listed());
      const std::uint64_t room = (bytes.size() - kListHeadBytes) / call_bytes;
      const std::uint64_t calls = word(offsetof(ListHead, calls));
      list_calls_ = static_cast<std::uint32_t>(calls < room ? calls : room);
      size_ = static_cast<std::uint32_t>(kListHeadBytes + list_calls_ * call_bytes);
      return true;
    }
    return size_ % 8 == 0 && size_ <= bytes.size() && text_bytes_ <= size_ &&
           kRecordHeadBytes + 8 * (std::size_t{keys_} + numbers_) + text_bytes_ <= size_ &&
           (function_ < functions || is_sound_repeat());
  }

  // Another record whose head is the same but for its times.
  void move_to(const std::byte* record) noexcept { at_ = record; }

  bool is_repeat() const noexcept { return function_ == kRepeatFunction; }
  // Of a repeat: its leaves, and how many calls it represents.
  unsigned period() const noexcept { return std::to_integer<unsigned>(at_[7]); }
  std::uint64_t repeated_calls() const noexcept { return word(offsetof(RepeatHead, calls)); }
  RepeatLeaf leaf(unsigned index) const noexcept {
    RepeatLeaf leaf;
    std::memcpy(&leaf, at_ + leaf_place(index), sizeof leaf);
    return leaf;
  }
  // Of leaf `index`: eight bytes for each of its numbers.
  const std::byte* strides(unsigned index) const noexcept {
    return at_ + leaf_place(index) + sizeof(RepeatLeaf);
  }

  bool is_list() const noexcept { return function_ == kListFunction; }
  std::uint32_t list_calls() const noexcept { return list_calls_; }
  unsigned listed() const noexcept { return std::to_integer<unsigned>(at_[7]); }
  ListHead list() const noexcept {
    ListHead head;
    std::memcpy(&head, at_, sizeof head);
    return head;
  }

  std::size_t size() const noexcept { return size_; }
  std::uint16_t function() const noexcept { return function_; }
  std::uint8_t layers() const noexcept { return std::to_integer<std::uint8_t>(at_[6]); }
  bool control() const noexcept { return (at_[7] & std::byte{1}) != std::byte{0}; }
  // Its own times are kept, not only its stream's.
  bool exact() const noexcept { return at_[7] != std::byte{0}; }
  std::uint64_t start_ticks() const noexcept { return word(8); }
  std::uint64_t duration_ticks() const noexcept { return word(16); }
  std::uint16_t keys() const noexcept { return keys_; }
  std::uint16_t numbers() const noexcept { return numbers_; }
  const std::byte* key_bytes() const noexcept { return at_ + kRecordHeadBytes; }
  const std::byte* number_bytes() const noexcept { return key_bytes() + std::size_t{8} * keys_; }
  std::span<const std::byte> text() const noexcept {
    return {number_bytes() + std::size_t{8} * numbers_, text_bytes_};
  }

 private:
  bool is_sound_repeat() const noexcept {
    if (!is_repeat() || period() == 0 || period() > kMostLeaves) return false;
    std::size_t at = kRecordHeadBytes;
    for (unsigned i = 0; i < period(); ++i) {
      if (at + sizeof(RepeatLeaf) > size_) return false;
      const std::uint64_t numbers = word(at);
      if (numbers > kMostRepeatedWords) return false;
      at += leaf_bytes(numbers);
    }
    return at == size_;
  }
  std::size_t leaf_place(unsigned index) const noexcept {
    std::size_t at = kRecordHeadBytes;
    for (unsigned i = 0; i < index; ++i) at += leaf_bytes(word(at));
    return at;
  }
  std::uint64_t word(std::size_t offset) const noexcept {
    std::uint64_t value;
    std::memcpy(&value, at_ + offset, 8);
    return value;
  }

  static constexpr std::byte kNothing[kRecordHeadBytes] = {};
  const std::byte* at_ = kNothing;
  std::uint32_t size_ = 0, text_bytes_ = 0, list_calls_ = 0;
  std::uint16_t function_ = 0, keys_ = 0, numbers_ = 0;
};

}  // namespace iotune::recorder
