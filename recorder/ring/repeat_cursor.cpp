#include "recorder/ring/repeat_cursor.h"

#include <cstring>

#include "patterns/loop_finder.h"
#include "recorder/ring/process_buffer.h"

namespace iotune::recorder {
namespace {

// What the words of a record are multiplied with.
struct Factors {
  constexpr Factors() noexcept {
    for (unsigned i = 0; i < kMostRepeatedWords; ++i) of[i] = patterns::column_factor(6 + i);
  }
  std::uint64_t of[kMostRepeatedWords] = {};
};
constexpr Factors kFactors;

// Linear in the call's numbers, so that equal steps give equal differences.
std::uint64_t print_of(const TransferCall& call) noexcept {
  std::uint64_t print = call.stream * patterns::column_factor(0);
  for (unsigned i = 0; i < 3; ++i) {
    print += static_cast<std::uint64_t>(call.numbers[i]) * patterns::column_factor(3 + i);
  }
  return print;
}

// The same of a record, of which the words of its stream stay.
std::uint64_t print_of(const BuiltRecord& built) noexcept {
  std::uint64_t print =
      built.head * patterns::column_factor(1) + built.counts * patterns::column_factor(2);
  for (unsigned i = 0; i < built.words; ++i) {
    std::uint64_t word;
    std::memcpy(&word, built.at + kRecordHeadBytes + std::size_t{8} * i, 8);
    print += word * kFactors.of[i];
  }
  return print;
}

bool same_stream(const TransferCall& a, const TransferCall& b) noexcept {
  return a.stream == b.stream;
}

std::uint64_t word_at(const std::byte* record, unsigned index) noexcept {
  std::uint64_t word;
  std::memcpy(&word, record + std::size_t{8} * index, 8);
  return word;
}

// Of a record without text: word 3 is keys | numbers << 16.
constexpr unsigned kHeadWords = kRecordHeadBytes / 8, kCounts = 3;
unsigned keys_of(const std::byte* record) noexcept {
  return static_cast<unsigned>(word_at(record, kCounts) & 0xffff);
}
unsigned numbers_of(const std::byte* record) noexcept {
  return static_cast<unsigned>(word_at(record, kCounts) >> 16 & 0xffff);
}

bool same_stream(const std::byte* a, const std::byte* b) noexcept {
  std::uint64_t different = ((word_at(a, 0) ^ word_at(b, 0)) & kHeadWithoutMarks) |
                            (word_at(a, kCounts) ^ word_at(b, kCounts));
  if (different != 0) return false;
  for (unsigned i = 0; i < keys_of(a); ++i) {
    different |= word_at(a, kHeadWords + i) ^ word_at(b, kHeadWords + i);
  }
  return different == 0;
}

// Of records of one stream: whether the numbers of `now` are as far from those of `before` as these
// from those of `still_before`.
bool same_step(const std::byte* now, const std::byte* before,
               const std::byte* still_before) noexcept {
  const unsigned first = kHeadWords + keys_of(now), numbers = numbers_of(now);
  std::uint64_t different = 0;
  for (unsigned i = first; i < first + numbers; ++i) {
    different |=
        (word_at(now, i) - word_at(before, i)) ^ (word_at(before, i) - word_at(still_before, i));
  }
  return different == 0;
}

TransferCall transfer_of(const std::byte* record) noexcept {
  const std::uint64_t head = word_at(record, 0);
  TransferCall call{stream_word(static_cast<CallNumber>(head >> 32 & 0xffff),
                                static_cast<std::uint8_t>(head >> 48 & 0xff),
                                static_cast<int>(word_at(record, kHeadWords)),
                                static_cast<std::uint32_t>(word_at(record, kHeadWords + 1))),
                    {}};
  std::memcpy(call.numbers, record + kRecordHeadBytes + 16, sizeof call.numbers);
  return call;
}

}  // namespace

void RepeatCursor::wrote(const TransferCall& call, const std::byte* record,
                         bool may_count) noexcept {
  end_list();
  end_loop();
  remember(record, true, [&call] { return print_of(call); });
  if (!may_count || left_ <= 0) return;
  // In a quiet spell a list follows, unless the last loop's stride mostly goes on after a jump.
  may_list_ = !alert_ && !(has_guess_ && same_stream(call, guess_.next));
  last_ = call;
  for (std::int64_t& number : last_step_) number = INT64_MIN;
  if (const unsigned period = find_loop(); period != 0 && start_loop(period)) return;
  if (has_guess_ && same_stream(call, guess_.next)) {
    expect_step(call, guess_.stride);
  }
}

void RepeatCursor::wrote(const BuiltRecord& built, bool may_count) noexcept {
  end_list();
  end_loop();
  remember(built.at, false, [&built] { return print_of(built); });
  if (!may_count || left_ <= 0) return;
  if (const unsigned period = find_loop(); period != 0) start_loop(period);
}

bool RepeatCursor::append(const TransferCall& call, std::uint64_t start_ticks,
                          std::uint64_t duration_ticks, Ring& ring) noexcept {
  if (!may_list_ || expected_ != nullptr || !same_stream(call, last_)) return false;
  if (list_ == nullptr) {
    if (!begin_list(call, ring)) return false;
    if (next_listed_ != nullptr) return list(call, start_ticks, duration_ticks);
  }
  if (next_listed_ == nullptr) return append_all(call, start_ticks, duration_ticks, ring);
  if (next_listed_ != listed_end_) {  // so another number has moved
    constexpr std::uint64_t kWorthwhile = 64;
    list_all_ = list_->calls < kWorthwhile;
  }
  return false;
}

bool RepeatCursor::append_all(const TransferCall& call, std::uint64_t start_ticks,
                              std::uint64_t duration_ticks, Ring& ring) noexcept {
  const std::size_t used = static_cast<std::uint32_t>(ring.word->load(std::memory_order_relaxed));
  if (used + list_call_bytes(0) > ring.capacity_bytes) return false;
  std::memcpy(ring.records + used, call.numbers, sizeof call.numbers);
  const std::uint64_t end_ticks = start_ticks + duration_ticks;
  mark_record(start_ticks, end_ticks, *ring.word);
  publish_listed(list_call_bytes(0), duration_ticks, end_ticks, *ring.word);
  std::uint64_t different = 0;
  unsigned moved = 0;
  for (int k = 0; k < 3; ++k) {
    const std::int64_t now = step(call.numbers[k], last_.numbers[k]);
    different |= word(now ^ last_step_[k]);
    moved += now != 0 ? 1 : 0;
    last_step_[k] = now;
    last_.numbers[k] = call.numbers[k];
  }
  // Where no more than one number has moved for some time, another list follows.
  constexpr unsigned kForSomeTime = 32;
  one_moved_ = moved <= 1 ? one_moved_ + 1 : 0;
  if (one_moved_ == kForSomeTime) {
    list_all_ = false;
    list_ = nullptr;
  }
  if (++fruitless_ % kQuiet == 0 || different == 0) find_loop_in_list(different == 0);
  return true;
}

// A call on the list made the same step as the one before (`goes_on`), or the quiet spell is over.
void RepeatCursor::find_loop_in_list(bool goes_on) noexcept {
  end_list();
  alert_ = true;
  if (!goes_on) return;
  expect_step(last_, last_step_);
  fruitless_ = 0;
}

// Another such step from `call` on.
void RepeatCursor::expect_step(const TransferCall& call, const std::int64_t* stride) noexcept {
  leaves_[0].next = call;
  leaves_[0].wide = nullptr;
  leaves_[0].cost = 1;
  std::memcpy(leaves_[0].stride, stride, sizeof leaves_[0].stride);
  go_on(leaves_[0]);
  expect(1);
}

// The first `period` leaves, in turns.
void RepeatCursor::expect(unsigned period) noexcept {
  for (unsigned i = 0; i < period; ++i) leaves_[i].after = &leaves_[i + 1 == period ? 0 : i + 1];
  period_ = period;
  expected_ = &leaves_[0];
}

// Only the number that moved is listed, where one did.
bool RepeatCursor::begin_list(const TransferCall& call, Ring& ring) noexcept {
  if (!ring.in_file) return false;
  one_moved_ = 0;
  unsigned moved = 0, listed = 0;
  for (unsigned k = 0; k < 3; ++k) {
    if (call.numbers[k] == last_.numbers[k]) continue;
    ++moved;
    listed = k + 1;
  }
  if (moved != 1 || list_all_) listed = 0;
  const std::uint64_t word = ring.word->load(std::memory_order_relaxed);
  const std::size_t used = static_cast<std::uint32_t>(word);
  if (used + kListHeadBytes + list_call_bytes(listed) > ring.capacity_bytes) return false;
  list_ = reinterpret_cast<ListHead*>(ring.records + used);
  const ListHead head{static_cast<std::uint32_t>(kListHeadBytes),
                      kListFunction,
                      0,
                      static_cast<std::uint8_t>(listed),
                      0,
                      0,
                      0,
                      UINT64_MAX,
                      0,
                      0};
  std::memcpy(list_, &head, sizeof head);
  ring.word->store(word + kListHeadBytes, std::memory_order_release);
  if (listed == 0) return true;
  moving_ = listed - 1;
  for (unsigned k = 0; k < 3; ++k) {
    stays_[k] = k == moving_ ? 0 : ~std::uint64_t{0};
    if (k != moving_) last_step_[k] = 0;
  }
  ring_word_ = ring.word;
  next_listed_ = reinterpret_cast<std::int64_t*>(ring.records + used + kListHeadBytes);
  listed_end_ = next_listed_ + (ring.capacity_bytes - used - kListHeadBytes) / list_call_bytes(1);
  return true;
}

// Behind a list no record has calls right before it.
void RepeatCursor::end_list() noexcept {
  may_list_ = false;
  if (list_ == nullptr) return;
  list_ = nullptr;
  next_listed_ = listed_end_ = nullptr;
  count_ = 0;
}

// False where a call moves in more places than a leaf has room for.
bool RepeatCursor::start_loop(unsigned period) noexcept {
  for (unsigned i = 0; i < period; ++i) {
    const Seen& last = back(period - 1 - i);
    const std::byte* const before = back(2 * period - 1 - i).record;
    Leaf& leaf = leaves_[i];
    leaf.cost = cost_of_repeated(numbers_of(last.record));
    if (!last.is_transfer) {
      if (!start_wide(leaf, i, last.record, before)) return false;
      continue;
    }
    leaf.wide = nullptr;
    leaf.next = transfer_of(last.record);
    const TransferCall one_before = transfer_of(before);
    for (int k = 0; k < 3; ++k) leaf.stride[k] = step(leaf.next.numbers[k], one_before.numbers[k]);
    go_on(leaf);
  }
  expect(period);
  return true;
}

bool RepeatCursor::start_wide(Leaf& leaf, unsigned index, const std::byte* last,
                              const std::byte* before) noexcept {
  WideLeaf& wide = wide_[index];
  leaf.next.stream = kNoStream;
  leaf.wide = &wide;
  wide.head = word_at(last, 0) & kHeadWithoutMarks;
  wide.counts = word_at(last, kCounts);
  wide.moving = 0;
  const unsigned words = keys_of(last) + numbers_of(last);
  for (unsigned i = 0; i < words; ++i) {
    const std::uint64_t now = word_at(last, kHeadWords + i);
    const std::uint64_t stride = now - word_at(before, kHeadWords + i);
    wide.next[i] = now + stride;
    if (stride == 0) continue;
    if (wide.moving == kMostMoving) return false;
    wide.place[wide.moving] = static_cast<std::uint8_t>(i);
    wide.stride[wide.moving++] = stride;
  }
  return true;
}

void RepeatCursor::wrote_other() noexcept {
  end_list();
  end_loop();
  count_ = 0;
}

void RepeatCursor::emptied() noexcept {
  wrote_other();
  list_all_ = false;
  left_ = kMostRepeated;
  bins_.emptied();
}

// Nothing that it holds is believed: any of it may be half of a change.
void RepeatCursor::left_by_jump() noexcept {
  expected_ = nullptr;
  calls_ = nullptr;
  rare_from_ = 0;
  period_ = count_ = 0;
  list_ = nullptr;
  next_listed_ = listed_end_ = nullptr;
  may_list_ = has_guess_ = false;
  left_ = 0;
}

// A loop of which calls were counted stands in the ring: what is written next has no calls right
// before it any more.
void RepeatCursor::end_loop() noexcept {
  if (calls_ != nullptr) {
    has_guess_ = period_ == 1 || (period_ == 0 && has_guess_);
    if (period_ == 1) guess_ = leaves_[0];
    guess_misses_ = 0;
    for (unsigned i = 0; i < period_ && left_ > 0; ++i) {
      const std::uint64_t own = *calls_ / period_ + (i < *calls_ % period_ ? 1 : 0);
      left_ -= static_cast<std::int32_t>(own) * leaves_[i].cost;
    }
    calls_ = nullptr;
    rare_from_ = 0;
    count_ = 0;
  } else if (period_ == 1 && has_guess_) {
    constexpr unsigned kMostMisses = 8;
    has_guess_ = ++guess_misses_ < kMostMisses;
  }
  period_ = 0;
  expected_ = nullptr;
}

// Where nothing has repeated for long, loops of several calls are looked for now and then only:
// they are found a little later, and noise costs less.
bool RepeatCursor::is_alert() const noexcept {
  return fruitless_ < kPatience || fruitless_ % kQuiet < kSpell;
}

// `print`: computed where it is needed.
template <typename Print>
void RepeatCursor::remember(const std::byte* record, bool is_transfer, Print print) noexcept {
  const bool was_alert = is_alert();
  ++fruitless_;
  alert_ = is_alert();
  if (alert_ && !was_alert) count_ = 0;  // calls without a print lie behind
  if (count_ == 0) std::memset(matches_, 0, sizeof matches_);
  ++count_;
  Seen& newest = seen_[count_ % kHistory];
  newest.record = record;
  newest.is_transfer = is_transfer;
  if (!alert_) return;
  newest.print = print();
  const unsigned longest = longest_period();
  for (unsigned period = 1; period <= longest; ++period) {
    const std::uint64_t before = seen_[(count_ - period) % kHistory].print;
    const std::uint64_t still_before = seen_[(count_ - 2 * period) % kHistory].print;
    matches_[period] = newest.print - before == before - still_before ? matches_[period] + 1 : 0;
  }
}

unsigned RepeatCursor::longest_period() const noexcept {
  const unsigned known = (count_ - 1) / 2;
  return known < kMostLeaves ? known : kMostLeaves;
}

// The shortest period by which all of its last calls went on; 0 if there is none.
unsigned RepeatCursor::find_loop() noexcept {
  unsigned found = 0;
  if (!alert_) {
    found = count_ >= 3 && is_loop(1) ? 1 : 0;
  } else {
    const unsigned longest = longest_period();
    for (unsigned period = 1; period <= longest && found == 0; ++period) {
      if (matches_[period] >= period && is_loop(period)) found = period;
    }
  }
  if (found != 0) fruitless_ = 0;
  return found;
}

// Did each of the last `period` calls make the same step twice, and are they of streams of
// their own? (Two leaves of one stream would leave their order to the reader.)
bool RepeatCursor::is_loop(unsigned period) const noexcept {
  for (unsigned i = 0; i < period; ++i) {
    const std::byte* const now = back(i).record;
    const std::byte* const before = back(i + period).record;
    const std::byte* const still_before = back(i + 2 * period).record;
    if (!same_stream(now, before) || !same_stream(before, still_before) ||
        !same_step(now, before, still_before)) {
      return false;
    }
    for (unsigned other = 0; other < i; ++other) {
      if (same_stream(now, back(other).record)) return false;
    }
  }
  return true;
}

void RepeatCursor::use_up() noexcept {
  left_ = 0;
  expected_ = nullptr;
}

bool RepeatCursor::prepare(std::uint64_t start_ticks, std::uint64_t end_ticks,
                           Ring& ring) noexcept {
  if (calls_ == nullptr && !begin_record(ring)) return false;
  mark_record(start_ticks, end_ticks, *ring.word);
  rare_from_ = bins_.next_ticks();
  return true;
}

void RepeatCursor::mark(std::uint64_t start_ticks, std::uint64_t end_ticks,
                        const std::atomic<std::uint64_t>& ring_word) noexcept {
  bins_.note(start_ticks, end_ticks, ring_word.load(std::memory_order_relaxed),
             calls_ == nullptr ? kWholeRepeat : *calls_);
}

bool RepeatCursor::begin_record(Ring& ring) noexcept {
  if (!ring.in_file) return false;
  const std::uint64_t word = ring.word->load(std::memory_order_relaxed);
  const std::size_t used = static_cast<std::uint32_t>(word);
  const auto numbers = [this](unsigned i) noexcept {
    return leaves_[i].wide == nullptr ? 3U
                                      : static_cast<unsigned>(leaves_[i].wide->counts >> 16 & 0xff);
  };
  std::size_t bytes = sizeof(RepeatHead);
  for (unsigned i = 0; i < period_; ++i) bytes += leaf_bytes(numbers(i));
  if (used + bytes > ring.capacity_bytes) return false;
  std::byte* const record = ring.records + used;
  const RepeatHead head{static_cast<std::uint32_t>(bytes),
                        kRepeatFunction,
                        0,
                        static_cast<std::uint8_t>(period_),
                        0,
                        0,
                        0};
  std::memcpy(record, &head, sizeof head);
  calls_ = reinterpret_cast<std::uint64_t*>(record + offsetof(RepeatHead, calls));
  // Whichever call uses up the last of what is left.
  std::int32_t largest_cost = 1;
  for (unsigned i = 0; i < period_; ++i) {
    if (leaves_[i].cost > largest_cost) largest_cost = leaves_[i].cost;
  }
  most_calls_ = left_ > largest_cost ? static_cast<std::uint64_t>(left_ / largest_cost) : 1;
  std::byte* at = record + sizeof head;
  for (unsigned i = 0; i < period_; ++i) {
    Leaf& leaf = leaves_[i];
    const RepeatLeaf begun{numbers(i), 0, UINT64_MAX, 0, 0};
    std::memcpy(at, &begun, sizeof begun);
    leaf.written = reinterpret_cast<RepeatLeaf*>(at);
    at += sizeof begun;
    std::int64_t stride[kMostRepeatedWords] = {};
    if (const WideLeaf* const wide = leaf.wide; wide == nullptr) {
      std::memcpy(stride, leaf.stride, sizeof leaf.stride);
    } else {
      // The keys come first, and stay.
      const auto keys = static_cast<unsigned>(wide->counts & 0xffff);
      for (unsigned k = 0; k < wide->moving; ++k) {
        stride[wide->place[k] - keys] = static_cast<std::int64_t>(wide->stride[k]);
      }
    }
    std::memcpy(at, stride, std::size_t{8} * begun.numbers);
    at += std::size_t{8} * begun.numbers;
  }
  ring.word->store(word + bytes, std::memory_order_release);
  return true;
}

}  // namespace iotune::recorder
