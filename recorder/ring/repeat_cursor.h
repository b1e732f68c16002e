// Transfers that go on as the last ones did are counted in one record instead of being written
// one by one (FORMAT.md, "Repeat in a ring"): a loop of up to kMostLeaves calls, each moving by
// strides of its own. Transfers of POSIX are handed over as three numbers, calls of all other
// layers as the record that was built for them. The hot path of the recorder; a thread uses its own
// cursor alone.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "recorder/call_numbers.h"
#include "recorder/ring/bin_marks.h"
#include "recorder/ring_record.h"

namespace iotune::recorder {

struct Ring;

// A POSIX transfer as words: the stream that it belongs to, and what may move.
struct TransferCall {
  std::uint64_t stream;  // stream_word()
  std::int64_t numbers[3];
};

// Function, layers, descriptor and file in one word, so that one comparison tells two streams
// apart: 12, 5, 16 and 31 bits, more than there are of each. Bits of ThreadState::layers that are
// no layers are left out.
static_assert(kCallCount < 1u << 12);
constexpr std::uint64_t stream_word(CallNumber number, std::uint8_t layers, int fd,
                                    std::uint32_t file) noexcept {
  return static_cast<std::uint64_t>(number) | std::uint64_t{layers & 0x1fu} << 12 |
         static_cast<std::uint64_t>(static_cast<std::uint16_t>(fd)) << 17 |
         std::uint64_t{file} << 33;
}
constexpr std::uint16_t function_in(std::uint64_t stream) noexcept {
  return stream & 0xfff;
}
constexpr std::uint8_t layers_in(std::uint64_t stream) noexcept {
  return stream >> 12 & 0x1f;
}
constexpr std::int64_t descriptor_in(std::uint64_t stream) noexcept {
  return static_cast<std::int64_t>(stream >> 17 & 0xffff);
}
constexpr std::int64_t file_in(std::uint64_t stream) noexcept {
  return static_cast<std::int64_t>(stream >> 33);
}

// The words 0 and 3 of a record (FORMAT.md, "Record in a ring") without the mark of its times: the
// length, the function, the layers and the numbers of keys and numbers.
constexpr std::uint64_t kHeadWithoutMarks = ~std::uint64_t{0} >> 8;

// A record of no text that lies in the ring behind the last one and is not published.
struct BuiltRecord {
  const std::byte* at;
  unsigned words;  // keys and numbers
  std::uint64_t head, counts;
};

class RepeatCursor {
 public:
  // True where the call went on with the loop and is counted in `ring`.
  bool count(const TransferCall& call, std::uint64_t start_ticks, std::uint64_t duration_ticks,
             Ring& ring) noexcept {
    Leaf* const leaf = expected_;
    if (leaf == nullptr) return false;
    const TransferCall& next = leaf->next;
    if (((call.stream ^ next.stream) | word(call.numbers[0] ^ next.numbers[0]) |
         word(call.numbers[1] ^ next.numbers[1]) | word(call.numbers[2] ^ next.numbers[2])) != 0) {
      return false;
    }
    const std::uint64_t end_ticks = start_ticks + duration_ticks;
    if (end_ticks >= rare_from_ && !prepare(start_ticks, end_ticks, ring)) return false;
    add_call(*leaf, duration_ticks, end_ticks);
    go_on(*leaf);
    return true;
  }

  // The same of a call of another layer. Where it is counted the record in the ring is overwritten.
  bool count(const BuiltRecord& built, std::uint64_t start_ticks, std::uint64_t duration_ticks,
             Ring& ring) noexcept {
    Leaf* const leaf = expected_;
    if (leaf == nullptr || leaf->wide == nullptr) return false;
    WideLeaf& wide = *leaf->wide;
    std::uint64_t different = (built.head ^ wide.head) | (built.counts ^ wide.counts);
    if (different != 0) return false;
    for (unsigned i = 0; i < built.words; ++i) {
      std::uint64_t word;
      std::memcpy(&word, built.at + kRecordHeadBytes + std::size_t{8} * i, 8);
      different |= word ^ wide.next[i];
      // One by one: two words at once that were stored one by one would have to wait for memory.
      __asm__("" : "+r"(different));
    }
    const std::uint64_t end_ticks = start_ticks + duration_ticks;
    if (different != 0) return false;
    if (end_ticks >= rare_from_ && !prepare(start_ticks, end_ticks, ring)) return false;
    add_call(*leaf, duration_ticks, end_ticks);
    for (unsigned i = 0; i < wide.moving; ++i) wide.next[wide.place[i]] += wide.stride[i];
    return true;
  }

  // True where the call was put on the list that there is: calls of one stream that nothing goes on
  // with, of which one number moves (FORMAT.md, "List in a ring").
  bool list(const TransferCall& call, std::uint64_t start_ticks,
            std::uint64_t duration_ticks) noexcept {
    std::int64_t* const to = next_listed_;
    if (to == listed_end_) return false;  // both nullptr: there is none
    const unsigned moving = moving_;
    const std::uint64_t moved[3] = {word(call.numbers[0] ^ last_.numbers[0]),
                                    word(call.numbers[1] ^ last_.numbers[1]),
                                    word(call.numbers[2] ^ last_.numbers[2])};
    std::uint64_t any = moved[0] | moved[1] | moved[2];
    // At once: three values until it is needed would not all stay in registers.
    __asm__("" : "+r"(any));
    if (((call.stream ^ last_.stream) | (moved[0] & stays_[0]) | (moved[1] & stays_[1]) |
         (moved[2] & stays_[2])) != 0) {
      return false;
    }
    std::int64_t& last = last_.numbers[moving];
    const std::uint64_t end_ticks = start_ticks + duration_ticks;
    if (end_ticks >= bins_.next_ticks()) mark(start_ticks, end_ticks, *ring_word_);
    // The others stayed.
    const auto number = static_cast<std::int64_t>(word(last) ^ any);
    *to = number;
    next_listed_ = to + 1;
    publish_listed(list_call_bytes(1), duration_ticks, end_ticks, *ring_word_);
    const std::int64_t now = step(number, last);
    last = number;
    const bool goes_on = now == last_step_[moving];
    last_step_[moving] = now;
    if (++fruitless_ % kQuiet == 0 || goes_on) find_loop_in_list(goes_on);
    return true;
  }

  // True where nothing is expected, and the call was put on a list all the same: one that begins
  // with it, or one of all numbers.
  bool append(const TransferCall& call, std::uint64_t start_ticks, std::uint64_t duration_ticks,
              Ring& ring) noexcept;

  // A transfer was written as the ring's newest record, at `record`; `may_count`: what follows may
  // be counted.
  void wrote(const TransferCall& call, const std::byte* record, bool may_count) noexcept;

  // The same of a call of another layer, which has at most kMostRepeatedWords.
  void wrote(const BuiltRecord& built, bool may_count) noexcept;

  // Another record was written: what follows is not gone on from it.
  void wrote_other() noexcept;

  // The ring was emptied.
  void emptied() noexcept;

  // The thread has left a function of this class in the midst of it. Nothing is expected, and what
  // the ring has is stored before the next record: a list may count a call that it does not have.
  void left_by_jump() noexcept;

  // Marks of time are kept there from now on.
  void keep_marks(RingMarks* marks, std::uint64_t first_ticks) noexcept {
    bins_.place_at(marks, first_ticks);
    rare_from_ = 0;
  }
  // Before a record of a call is published: marks the call where it is the first of its bin.
  void mark_record(std::uint64_t start_ticks, std::uint64_t end_ticks,
                   const std::atomic<std::uint64_t>& ring_word) noexcept {
    if (end_ticks >= bins_.next_ticks()) mark(start_ticks, end_ticks, ring_word);
  }

  // kMostRepeated is used up.
  bool is_full() const noexcept { return left_ <= 0; }

 private:
  static constexpr unsigned kHistory = 32;
  static constexpr std::uint32_t kPatience = 256, kSpell = 64, kQuiet = 2048;

  static constexpr unsigned kMostMoving = 16;
  // No stream_word(): no call has so many layers.
  static constexpr std::uint64_t kNoStream = ~std::uint64_t{0};

  // Of a call that is no transfer of POSIX.
  struct WideLeaf {
    std::uint64_t head, counts;
    unsigned moving;  // words that do
    std::uint8_t place[kMostMoving];
    std::uint64_t stride[kMostMoving];
    std::uint64_t next[kMostRepeatedWords];  // what is expected: keys and numbers
  };
  struct Leaf {
    TransferCall next;  // what is expected; of kNoStream where `wide` says it
    std::int64_t stride[3];
    WideLeaf* wide;
    RepeatLeaf* written;  // in the record, once there is one
    Leaf* after;          // whose turn is next
    std::int32_t cost;
  };
  // A record of the ring.
  struct Seen {
    const std::byte* record;
    std::uint64_t print;
    bool is_transfer;
  };

  static void publish(std::uint64_t& to, std::uint64_t value) noexcept {
    __atomic_store_n(&to, value, __ATOMIC_RELAXED);
  }
  static std::uint64_t word(std::int64_t value) noexcept {
    return static_cast<std::uint64_t>(value);
  }
  static std::int64_t step(std::int64_t to, std::int64_t from) noexcept {
    return static_cast<std::int64_t>(word(to) - word(from));
  }
  static void go_on(Leaf& leaf) noexcept {
    for (int i = 0; i < 3; ++i) {
      leaf.next.numbers[i] =
          static_cast<std::int64_t>(word(leaf.next.numbers[i]) + word(leaf.stride[i]));
    }
  }
  void add_call(Leaf& leaf, std::uint64_t duration_ticks, std::uint64_t end_ticks) noexcept {
    RepeatLeaf& written = *leaf.written;
    publish(written.sum_ticks, written.sum_ticks + duration_ticks);
    if (duration_ticks < written.least_ticks) publish(written.least_ticks, duration_ticks);
    if (duration_ticks > written.largest_ticks) publish(written.largest_ticks, duration_ticks);
    publish(written.last_end_ticks, end_ticks);
    // Last: a process that reads the ring meanwhile, or after the process was killed, finds whole
    // calls.
    const std::uint64_t calls = *calls_ + 1;
    __atomic_store_n(calls_, calls, __ATOMIC_RELEASE);
    expected_ = leaf.after;
    if (calls >= most_calls_) use_up();
  }
  const Seen& back(unsigned calls) const noexcept { return seen_[(count_ - calls) % kHistory]; }
  // Before a call is counted that begins the loop's record, or is the first of its bin. False:
  // there is no room for the record.
  [[gnu::cold]] bool prepare(std::uint64_t start_ticks, std::uint64_t end_ticks,
                             Ring& ring) noexcept;
  [[gnu::cold]] void mark(std::uint64_t start_ticks, std::uint64_t end_ticks,
                          const std::atomic<std::uint64_t>& ring_word) noexcept;
  // The loop's record holds as many calls as it may: nothing is counted any more in this ring.
  [[gnu::cold]] void use_up() noexcept;
  bool begin_record(Ring& ring) noexcept;
  bool begin_list(const TransferCall& call, Ring& ring) noexcept;
  bool append_all(const TransferCall& call, std::uint64_t start_ticks, std::uint64_t duration_ticks,
                  Ring& ring) noexcept;
  void publish_listed(std::size_t bytes, std::uint64_t duration_ticks, std::uint64_t end_ticks,
                      std::atomic<std::uint64_t>& ring_word) noexcept {
    ListHead& list = *list_;
    publish(list.sum_ticks, list.sum_ticks + duration_ticks);
    if (duration_ticks < list.least_ticks) publish(list.least_ticks, duration_ticks);
    if (duration_ticks > list.largest_ticks) publish(list.largest_ticks, duration_ticks);
    publish(list.last_end_ticks, end_ticks);
    // The number first: a reader takes no more calls than the ring's word says there is room for.
    __atomic_store_n(&list.calls, list.calls + 1, __ATOMIC_RELEASE);
    ring_word.store(ring_word.load(std::memory_order_relaxed) + bytes, std::memory_order_release);
  }
  void find_loop_in_list(bool goes_on) noexcept;
  void end_loop() noexcept;
  void end_list() noexcept;
  template <typename Print>
  void remember(const std::byte* record, bool is_transfer, Print print) noexcept;
  bool start_loop(unsigned period) noexcept;
  bool start_wide(Leaf& leaf, unsigned index, const std::byte* last,
                  const std::byte* before) noexcept;
  void expect(unsigned period) noexcept;
  void expect_step(const TransferCall& call, const std::int64_t* stride) noexcept;
  unsigned find_loop() noexcept;
  unsigned longest_period() const noexcept;
  bool is_alert() const noexcept;
  bool is_loop(unsigned period) const noexcept;

  // What the hot path uses comes first, on few cache lines: where a program reads at random, each
  // line of ours is one less of its own.
  Leaf* expected_ = nullptr;           // nullptr: nothing is
  std::uint64_t* calls_ = nullptr;     // of the record; nullptr: nothing is counted yet
  std::uint64_t rare_from_ = 0;        // calls that end then or later are to be prepared
  std::uint64_t most_calls_ = 0;       // that the record may count
  std::int32_t left_ = kMostRepeated;  // of what repeats may cost, without those of the open record
  unsigned fruitless_ = 0;             // transfers since the last loop
  BinMarks bins_;

  // While a list is gone on with:
  std::int64_t* next_listed_ =
      nullptr;  // its next number; nullptr: none, or all numbers are listed
  std::int64_t* listed_end_ = nullptr;
  ListHead* list_ = nullptr;  // nullptr: not begun
  std::atomic<std::uint64_t>* ring_word_ = nullptr;
  std::uint64_t stays_[3] = {};  // all bits of those that must not move
  unsigned moving_ = 0;          // the number that is listed
  bool may_list_ = false;
  bool list_all_ = false;  // what stayed did not stay for long
  bool has_guess_ = false;
  TransferCall last_ = {};
  std::int64_t last_step_[3] = {};
  unsigned one_moved_ = 0;  // calls in a row of which one number moved at most

  Leaf leaves_[kMostLeaves] = {};
  unsigned period_ = 0;  // of the loop that is expected

  unsigned guess_misses_ = 0;  // in a row
  // The last loop of one call: after a jump it mostly goes on with the same stride.
  Leaf guess_ = {};
  // The transfers that are the ring's newest records, one behind the other.
  unsigned count_ = 0;
  bool alert_ = true;
  unsigned matches_[kMostLeaves + 1] = {};  // by period: calls in a row that went on by it
  Seen seen_[kHistory] = {};
  WideLeaf wide_[kMostLeaves] = {};
};

}  // namespace iotune::recorder
