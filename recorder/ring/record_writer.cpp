#include "recorder/ring/record_writer.h"

#include <cerrno>

#include "core/process/configuration.h"
#include "recorder/format.h"
#include "recorder/meaning_by_call.h"
#include "recorder/ring/process_buffer.h"

namespace iotune::recorder {
namespace {
constexpr std::size_t kHeaderBytes = 32, kMarksPlace = 7;

std::size_t padded(std::size_t bytes) noexcept {
  return (bytes + 7) & ~std::size_t{7};
}

// Among the three numbers of a transfer.
constexpr MeaningByCall kBytesPlace([](const CallMeaning& meaning) {
  return meaning.bytes_place < 3 ? meaning.bytes_place : CallMeaning::kNowhere;
});

// A seek moves none.
std::int64_t bytes_moved(const TransferCall& call) noexcept {
  const int place = kBytesPlace[static_cast<CallNumber>(function_in(call.stream))];
  return place < 0 ? 0 : call.numbers[place];
}

// The first calls of a kind have their own times, or all where that is asked for.
bool take_exact(Ring& ring, Times times) noexcept {
  if (configuration().time_every_call) return true;
  std::uint16_t& left = ring.exact_left[static_cast<int>(times)];
  if (left == 0) return false;
  --left;
  return true;
}

}  // namespace

[[gnu::hot]] RecordWriter::RecordWriter(const CallScope& scope, CallNumber number,
                                        Times times) noexcept
    : wanted_(scope.recorded()) {
  if (!wanted_) return;
  begin(number, scope.outer_layers(), times, scope.start_ticks(), scope.duration_ticks());
}

void record_transfer(const TransferCall& call, std::uint64_t start_ticks,
                     std::uint64_t duration_ticks) noexcept {
  constexpr std::uint64_t kBytes = kHeaderBytes + std::size_t{5} * 8;
  const OwnCode own;
  Ring* const ring = t_thread.ring;
  // Up to the end of this block no function is called that could change errno.
  if (ring != nullptr && ring->in_file && !ring->cursor.is_full()) {
    const std::uint64_t word = ring->word->load(std::memory_order_relaxed);
    const std::size_t used = static_cast<std::uint32_t>(word);
    if (used + kBytes <= ring->capacity_bytes) {
      // FORMAT.md, "Record in a ring", as words.
      const bool exact = take_exact(*ring, Times::kPosix);
      constexpr std::uint64_t kCounts = 2 | 3 << 16;
      auto* const to = reinterpret_cast<std::uint64_t*>(ring->records + used);
      to[0] = kBytes | std::uint64_t{function_in(call.stream)} << 32 |
              std::uint64_t{layers_in(call.stream)} << 48 |
              (exact ? std::uint64_t{kExactRecord} << 56 : 0);
      to[1] = start_ticks;
      to[2] = duration_ticks;
      to[3] = kCounts;
      to[4] = static_cast<std::uint64_t>(descriptor_in(call.stream));
      to[5] = static_cast<std::uint64_t>(file_in(call.stream));
      for (unsigned i = 0; i < 3; ++i) to[6 + i] = static_cast<std::uint64_t>(call.numbers[i]);
      ring->cursor.mark_record(start_ticks, start_ticks + duration_ticks, *ring->word);
      ring->word->store(word + kBytes, std::memory_order_release);
      ring->cursor.wrote(call, reinterpret_cast<const std::byte*>(to), !exact);
      return;
    }
  }
  const int kept = errno;
  if (!buffer_exists()) start_buffer_if_worth(bytes_moved(call));
  if (ring != nullptr && ring->in_file) encode_ring(*ring);
  {
    RecordWriter record(static_cast<CallNumber>(function_in(call.stream)), layers_in(call.stream),
                        start_ticks, duration_ticks);
    record.key(descriptor_in(call.stream));
    record.key(file_in(call.stream));
    for (const std::int64_t value : call.numbers) record.number(value);
    record.commit();
  }
  errno = kept;
}

RecordWriter::RecordWriter(CallNumber number, std::uint8_t layers, std::uint64_t start,
                           std::uint64_t duration) noexcept {
  begin(number, layers, Times::kPosix, start, duration);
}

RecordWriter::RecordWriter(CallNumber number, std::uint64_t at_ticks) noexcept
    : wanted_(g_recording != kSealed) {
  if (wanted_) begin(number, t_thread.layers & kLayerBits, Times::kControl, at_ticks, 0);
}

[[gnu::hot]] void RecordWriter::begin(CallNumber number, std::uint8_t layers, Times times,
                                      std::uint64_t start, std::uint64_t duration) noexcept {
  Ring* ring = t_thread.ring;
  if (ring == nullptr || !ring->in_file) ring = ring_of_this_thread();
  if (ring != nullptr) begin_in(*ring, number, layers, times, start, duration);
}

RecordWriter::RecordWriter(CallNumber number, std::uint64_t at_ticks, Ring& ring) noexcept {
  begin_in(ring, number, t_thread.layers & kLayerBits, Times::kControl, at_ticks, 0);
}

[[gnu::always_inline]] inline void RecordWriter::begin_in(Ring& ring, CallNumber number,
                                                          std::uint8_t layers, Times times,
                                                          std::uint64_t start,
                                                          std::uint64_t duration) noexcept {
  if (ring.in_file && ring.cursor.is_full()) encode_ring(ring);
  word_ = ring.word->load(std::memory_order_relaxed);
  record_ = ring.records + static_cast<std::uint32_t>(word_);
  position_ = record_;
  end_ = ring.records + ring.capacity_bytes;
  if (position_ + kHeaderBytes > end_ && !make_room(kHeaderBytes)) return;
  const auto function = static_cast<std::uint16_t>(number);
  const bool control = times == Times::kControl;
  std::uint8_t exact = control ? kControlRecord : 0;
  if (!control && take_exact(ring, times)) exact = kExactRecord;
  std::memcpy(position_ + 4, &function, 2);
  std::memcpy(position_ + 6, &layers, 1);
  std::memcpy(position_ + 7, &exact, 1);
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
    // The ring is as it was where another thread has the lock and this one may not wait.
    if (static_cast<std::uint32_t>(word_) != 0) {
      too_large_ = true;
      return false;
    }
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

void RecordWriter::array(const unsigned* numbers, std::int64_t count) noexcept {
  if (numbers == nullptr || count < 0) {
    number(std::int64_t{-1});
    return;
  }
  number(count);
  for (std::int64_t i = 0; i < count && !too_large_; ++i) number(std::int64_t{numbers[i]});
}

[[gnu::hot]] void RecordWriter::values(const std::uint64_t* numbers, std::size_t count) noexcept {
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

[[gnu::hot]] void RecordWriter::numbers(
    std::initializer_list<std::int64_t> values_in_order) noexcept {
  values(reinterpret_cast<const std::uint64_t*>(values_in_order.begin()), values_in_order.size());
}

[[gnu::hot]] void RecordWriter::commit() noexcept {
  if (!wanted_) return;
  if (record_ == nullptr) {
    count_dropped(1);
    return;
  }
  if (texts_ == 0 && !too_large_ && t_thread.ring->in_file &&
      std::to_integer<std::uint8_t>(record_[kMarksPlace]) != kControlRecord &&
      keys_ + numbers_ <= static_cast<int>(kMostRepeatedWords)) {
    commit_repeatable();
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
  publish(text_bytes);
  t_thread.ring->cursor.wrote_other();
}

// What goes on with the calls before it is counted, and its record overwritten.
[[gnu::hot]] void RecordWriter::commit_repeatable() noexcept {
  Ring& ring = *t_thread.ring;
  std::uint64_t head, start, duration;
  std::memcpy(&head, record_, 8);
  std::memcpy(&start, record_ + 8, 8);
  std::memcpy(&duration, record_ + 16, 8);
  const auto marks = static_cast<std::uint8_t>(head >> 56);
  const auto bytes = static_cast<std::uint64_t>(position_ - record_);
  const BuiltRecord built{record_, static_cast<unsigned>(keys_ + numbers_),
                          (head & kHeadWithoutMarks & ~std::uint64_t{0xffffffff}) | bytes,
                          keys_ | static_cast<std::uint64_t>(numbers_) << 16};
  if (marks == 0 && ring.cursor.count(built, start, duration, ring)) return;
  publish(0);
  ring.cursor.wrote(built, marks == 0);
}

void RecordWriter::publish(std::size_t text_bytes) noexcept {
  const auto bytes = static_cast<std::uint32_t>(position_ - record_);
  const auto text_field = static_cast<std::uint32_t>(text_bytes);
  std::memcpy(record_, &bytes, 4);
  std::memcpy(record_ + 24, &keys_, 2);
  std::memcpy(record_ + 26, &numbers_, 2);
  std::memcpy(record_ + 28, &text_field, 4);
  Ring& ring = *t_thread.ring;
  std::uint64_t start, duration;
  std::memcpy(&start, record_ + 8, 8);
  std::memcpy(&duration, record_ + 16, 8);
  ring.cursor.mark_record(start, start + duration, *ring.word);
  // Only this thread empties its ring, so that a plain store publishes the record.
  ring.word->store(word_ + bytes, std::memory_order_release);
}

}  // namespace iotune::recorder
