#include "recorder/preload/record_writer.h"

#include "recorder/preload/process_buffer.h"

namespace iotune::recorder {
namespace {
constexpr std::size_t kHeaderBytes = 32;

std::size_t padded(std::size_t bytes) noexcept {
  return (bytes + 7) & ~std::size_t{7};
}
}  // namespace

RecordWriter::RecordWriter(const CallScope& scope, CallNumber number, bool control) noexcept {
  begin(number, scope.outer_layers(), control, scope.start_ticks(), scope.duration_ticks());
}

void record_transfer(const CallScope& scope, CallNumber number, const std::int64_t (&keys)[2],
                     const std::int64_t (&numbers)[3]) noexcept {
  constexpr std::uint64_t kBytes = kHeaderBytes + std::size_t{5} * 8;
  const OwnCode own;
  Ring* const ring = t_thread.ring;
  if (ring != nullptr && ring->in_file) {
    std::uint64_t word = ring->word->load(std::memory_order_acquire);
    const std::size_t used = static_cast<std::uint32_t>(word);
    if (used + kBytes <= ring->capacity_bytes) {
      // FORMAT.md, "Record in a ring", as words.
      const std::uint64_t head =
          kBytes | static_cast<std::uint64_t>(static_cast<std::uint16_t>(number)) << 32 |
          static_cast<std::uint64_t>(scope.outer_layers()) << 48;
      constexpr std::uint64_t kCounts = 2 | 3 << 16;
      const std::uint64_t words[9] = {
          head,
          scope.start_ticks(),
          scope.duration_ticks(),
          kCounts,
          static_cast<std::uint64_t>(keys[0]),
          static_cast<std::uint64_t>(keys[1]),
          static_cast<std::uint64_t>(numbers[0]),
          static_cast<std::uint64_t>(numbers[1]),
          static_cast<std::uint64_t>(numbers[2]),
      };
      static_assert(sizeof words == kBytes);
      std::memcpy(ring->records + used, words, sizeof words);
      if (ring->word->compare_exchange_strong(word, word + kBytes, std::memory_order_acq_rel)) {
        return;
      }
    }
  }
  RecordWriter record(scope, number, false);
  for (const std::int64_t key : keys) record.key(key);
  for (const std::int64_t value : numbers) record.number(value);
  record.commit();
}

RecordWriter::RecordWriter(CallNumber number, std::uint64_t at_ticks) noexcept {
  begin(number, t_thread.layers, true, at_ticks, 0);
}

void RecordWriter::begin(CallNumber number, std::uint8_t layers, bool control, std::uint64_t start,
                         std::uint64_t duration) noexcept {
  Ring* const ring = ring_of_this_thread();
  if (ring == nullptr) return;
  // Acquire: end_buffer, in another thread, has read what this record overwrites.
  word_ = ring->word->load(std::memory_order_acquire);
  record_ = ring->records + static_cast<std::uint32_t>(word_);
  position_ = record_;
  end_ = ring->records + ring->capacity_bytes;
  if (position_ + kHeaderBytes > end_ && !make_room(kHeaderBytes)) return;
  const auto function = static_cast<std::uint16_t>(number);
  const std::uint8_t control_byte = control ? 1 : 0;
  std::memcpy(position_ + 4, &function, 2);
  std::memcpy(position_ + 6, &layers, 1);
  std::memcpy(position_ + 7, &control_byte, 1);
  std::memcpy(position_ + 8, &start, 8);
  std::memcpy(position_ + 16, &duration, 8);
  position_ += kHeaderBytes;
}

bool RecordWriter::make_room(std::size_t bytes) noexcept {
  if (record_ == nullptr || too_large_) return false;
  Ring& ring = *t_thread.ring;
  const auto begun = static_cast<std::size_t>(position_ - record_);
  if (record_ != ring.records) {
    // An early ring has no file to go to yet: what does not fit is counted.
    if (!ring.in_file) {
      too_large_ = true;
      return false;
    }
    encode_ring(ring);
    word_ = ring.word->load(std::memory_order_relaxed);
    std::memmove(ring.records, record_, begun);
    record_ = ring.records;
    position_ = record_ + begun;
  }
  if (position_ + bytes <= end_) return true;
  too_large_ = true;
  return false;
}

void RecordWriter::array(const std::uint64_t* numbers, std::int64_t count) noexcept {
  if (numbers == nullptr || count < 0) {
    number(std::int64_t{-1});
    return;
  }
  number(count);
  values(numbers, static_cast<std::size_t>(count));
}

void RecordWriter::values(const std::uint64_t* numbers, std::size_t count) noexcept {
  if (numbers_ + count > 0xffff || (position_ + 8 * count > end_ && !make_room(8 * count))) {
    too_large_ = true;
    return;
  }
  std::memcpy(position_, numbers, 8 * count);
  position_ += 8 * count;
  numbers_ = static_cast<std::uint16_t>(numbers_ + count);
}

void RecordWriter::text(const char* text) noexcept {
  if (texts_ < kMaxTexts) text_[texts_++] = text == nullptr ? "" : text;
}

void RecordWriter::commit() noexcept {
  if (record_ == nullptr) {
    count_dropped(1);
    return;
  }
  std::size_t text_bytes = 0;
  for (int i = 0; i < texts_; ++i) text_bytes += std::strlen(text_[i]) + (i > 0 ? 1 : 0);
  if (!too_large_ && position_ + padded(text_bytes) > end_) make_room(padded(text_bytes));
  if (too_large_) {
    count_dropped(1);
    return;
  }
  std::byte* to = position_;
  for (int i = 0; i < texts_; ++i) {
    if (i > 0) *to++ = std::byte{0};
    const std::size_t bytes = std::strlen(text_[i]);
    std::memcpy(to, text_[i], bytes);
    to += bytes;
  }
  position_ += padded(text_bytes);
  while (to < position_) *to++ = std::byte{0};
  const auto bytes = static_cast<std::uint32_t>(position_ - record_);
  const auto text_field = static_cast<std::uint32_t>(text_bytes);
  std::memcpy(record_, &bytes, 4);
  std::memcpy(record_ + 24, &keys_, 2);
  std::memcpy(record_ + 26, &numbers_, 2);
  std::memcpy(record_ + 28, &text_field, 4);
  // Published by an exchange and not a store: end_buffer, in another thread, may have emptied
  // the ring meanwhile. The record then moves to the ring's start, where its place is now.
  Ring& ring = *t_thread.ring;
  while (!ring.word->compare_exchange_strong(word_, word_ + bytes, std::memory_order_acq_rel)) {
    std::byte* const place = ring.records + static_cast<std::uint32_t>(word_);
    std::memmove(place, record_, bytes);
    record_ = place;
  }
}

}  // namespace iotune::recorder
