// One call on its way into the thread's ring (FORMAT.md, "Record in a ring").
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "core/process/thread_state.h"
#include "recorder/call_numbers.h"
#include "recorder/ring/process_buffer.h"

namespace iotune::recorder {

// Keys first, then numbers in the order of the table, result and extras last; texts at any
// time (they are copied by commit and must live until then). Without a ring, or when one call
// is larger than a ring, the call is counted as dropped.
class RecordWriter {
 public:
  RecordWriter(const CallScope& scope, CallNumber number, Times times) noexcept;
  // For pseudo calls, which have a moment but no duration.
  RecordWriter(CallNumber number, std::uint64_t at_ticks) noexcept;
  // A mark of a region, in the thread's ring as it is.
  RecordWriter(CallNumber number, std::uint64_t at_ticks, Ring& ring) noexcept;
  // A transfer, in `layers`.
  RecordWriter(CallNumber number, std::uint8_t layers, std::uint64_t start,
               std::uint64_t duration) noexcept;

  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  void key(std::int64_t value) noexcept {
    if (word(value)) ++keys_;
  }
  void number(std::int64_t value) noexcept {
    if (word(value)) ++numbers_;
  }
  void number(double value) noexcept {
    std::int64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    number(bits);
  }
  void numbers(std::initializer_list<std::int64_t> values) noexcept;
  // An array as FORMAT.md has it: its length, or -1 for NULL, then the values.
  void array(const std::uint64_t* values, std::int64_t count) noexcept;
  void array(const std::int64_t* values, std::int64_t count) noexcept {
    array(reinterpret_cast<const std::uint64_t*>(values), count);
  }
  void array(const unsigned* values, std::int64_t count) noexcept;
  void values(const std::uint64_t* values, std::size_t count) noexcept;
  void text(const char* text) noexcept;

  void commit() noexcept;
  // False where the call is not to be recorded: what would cost something to ask need not be.
  bool wanted() const noexcept { return wanted_; }

 private:
  bool word(std::int64_t value) noexcept {
    if (position_ + 8 > end_ && !make_room(8)) return false;
    std::memcpy(position_, &value, 8);
    position_ += 8;
    return true;
  }
  bool make_room(std::size_t bytes) noexcept;
  void commit_repeatable() noexcept;
  void publish(std::size_t text_bytes) noexcept;
  void begin(CallNumber number, std::uint8_t layers, Times times, std::uint64_t start,
             std::uint64_t duration) noexcept;
  void begin_in(Ring& ring, CallNumber number, std::uint8_t layers, Times times,
                std::uint64_t start, std::uint64_t duration) noexcept;

  // A signal handler's calls must not be recorded into a half-written record.
  const OwnCode own_;
  std::byte* record_ = nullptr;  // nullptr: nowhere to write
  std::byte* position_ = nullptr;
  std::byte* end_ = nullptr;
  std::uint64_t word_ = 0;  // the ring's when the record was begun
  std::uint16_t keys_ = 0, numbers_ = 0;
  bool too_large_ = false, wanted_ = true;
  static constexpr int kMaxTexts = 6;
  int texts_ = 0;
  const char* text_[kMaxTexts];
};

// A POSIX transfer that was made outside any other wrapped call of its thread's POSIX layer:
// counted where it goes on with the ones before, else written. Keeps errno.
void record_transfer(const TransferCall& call, std::uint64_t start_ticks,
                     std::uint64_t duration_ticks) noexcept;

}  // namespace iotune::recorder
