// Transfers that go on as the last ones did are counted in one record instead of being written
// one by one (FORMAT.md, "Repeat in a ring"): a loop of up to kMostLeaves calls, each moving by
// strides of its own. The hot path of the recorder; a thread uses its own cursor alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/ring_record.h"

namespace iotune::recorder {

struct Ring;

// A POSIX transfer as words: the stream that it belongs to, and what may move.
struct TransferCall {
  std::uint64_t head;  // function | layers << 16
  std::int64_t keys[2];
  std::int64_t numbers[3];
};

class RepeatCursor {
 public:
  // True where the call went on with the loop and is counted in `ring`.
  bool count(const TransferCall& call, std::uint64_t start_ticks, std::uint64_t duration_ticks,
             Ring& ring) noexcept {
    if (period_ == 0) return false;
    const TransferCall& next = leaves_[position_].next;
    if (((call.head ^ next.head) | word(call.keys[0] ^ next.keys[0]) |
         word(call.keys[1] ^ next.keys[1]) | word(call.numbers[0] ^ next.numbers[0]) |
         word(call.numbers[1] ^ next.numbers[1]) | word(call.numbers[2] ^ next.numbers[2])) != 0) {
      return false;
    }
    if (calls_ == nullptr && !begin_record(ring)) return false;
    RepeatLeaf& written = written_[position_];
    publish(written.sum_ticks, written.sum_ticks + duration_ticks);
    if (duration_ticks < written.least_ticks) publish(written.least_ticks, duration_ticks);
    if (duration_ticks > written.largest_ticks) publish(written.largest_ticks, duration_ticks);
    publish(written.last_end_ticks, start_ticks + duration_ticks);
    // Last: whoever reads the ring meanwhile, or after the process was killed, finds whole calls.
    __atomic_store_n(calls_, *calls_ + 1, __ATOMIC_RELEASE);
    go_on(leaves_[position_]);
    position_ = position_ + 1 == period_ ? 0 : position_ + 1;
    if (--left_ == 0) period_ = 0;
    return true;
  }

  // True where nothing is expected and the call was put on a list in `ring`: calls of one stream
  // that nothing goes on with (FORMAT.md, "List in a ring").
  bool append(const TransferCall& call, std::uint64_t start_ticks, std::uint64_t duration_ticks,
              Ring& ring) noexcept;

  // A transfer was written as the ring's newest record; `may_count`: what follows may be counted.
  void wrote(const TransferCall& call, bool may_count) noexcept;

  // Another record was written.
  void wrote_other() noexcept;

  // The ring was emptied.
  void emptied() noexcept;

  // kMostRepeatedCalls are counted.
  bool is_full() const noexcept { return left_ == 0; }

 private:
  static constexpr unsigned kHistory = 32;
  static constexpr std::uint32_t kPatience = 256, kSpell = 64, kQuiet = 2048;

  struct Leaf {
    TransferCall next;  // what is expected
    std::int64_t stride[3];
  };
  struct Seen {
    TransferCall call;
    std::uint64_t print;
  };

  static void publish(std::uint64_t& to, std::uint64_t value) noexcept {
    __atomic_store_n(&to, value, __ATOMIC_RELAXED);
  }
  static std::uint64_t word(std::int64_t value) noexcept {
    return static_cast<std::uint64_t>(value);
  }
  static void go_on(Leaf& leaf) noexcept {
    for (int i = 0; i < 3; ++i) {
      leaf.next.numbers[i] =
          static_cast<std::int64_t>(word(leaf.next.numbers[i]) + word(leaf.stride[i]));
    }
  }
  const TransferCall& back(unsigned calls) const noexcept {
    return seen_[(count_ - calls) % kHistory].call;
  }
  bool begin_record(Ring& ring) noexcept;
  bool begin_list(const TransferCall& call, Ring& ring) noexcept;
  bool append_all(const TransferCall& call, std::uint64_t start_ticks, std::uint64_t duration_ticks,
                  Ring& ring) noexcept;
  void publish_listed(std::size_t bytes, std::uint64_t start_ticks, std::uint64_t duration_ticks,
                      Ring& ring) noexcept;
  void find_loop_in_list(const TransferCall& call, bool goes_on) noexcept;
  void end_loop() noexcept;
  void end_list() noexcept;
  void remember(const TransferCall& call) noexcept;
  void start_loop(unsigned period) noexcept;
  unsigned find_loop() noexcept;
  unsigned longest_period() const noexcept;
  bool is_alert() const noexcept;
  bool is_loop(unsigned period) const noexcept;

  // What the hot path uses comes first, on few cache lines: where a program reads at random, each
  // line of ours is one less of its own.
  unsigned period_ = 0;  // 0: nothing is expected
  unsigned position_ = 0;
  std::uint32_t left_ = kMostRepeatedCalls;
  unsigned fruitless_ = 0;          // transfers since the last loop
  std::uint64_t* calls_ = nullptr;  // of the record; nullptr: nothing is counted yet
  RepeatLeaf* written_ = nullptr;

  // While a list may be gone on with, or begun:
  ListHead* list_ = nullptr;  // nullptr: not begun
  TransferCall last_ = {};
  std::int64_t last_step_[3] = {};
  std::uint8_t listed_ = 0;  // as in ListHead
  bool may_list_ = false;
  bool list_all_ = false;  // what stayed did not stay for long
  bool has_guess_ = false;
  unsigned one_moved_ = 0;  // calls in a row of which one number moved at most

  Leaf leaves_[kMostLeaves] = {};

  unsigned guess_misses_ = 0;  // in a row
  // The last loop of one call: after a jump it mostly goes on with the same stride.
  Leaf guess_ = {};
  // The transfers that are the ring's newest records, one behind the other.
  unsigned count_ = 0;
  bool alert_ = true;
  unsigned matches_[kMostLeaves + 1] = {};  // by period: calls in a row that went on by it
  Seen seen_[kHistory] = {};
};

}  // namespace iotune::recorder
