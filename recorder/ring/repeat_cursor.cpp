#include "recorder/ring/repeat_cursor.h"

#include <cstring>

#include "patterns/loop_finder.h"
#include "recorder/ring/process_buffer.h"

namespace iotune::recorder {
namespace {

// Linear in the call's numbers, so that equal steps give equal differences.
std::uint64_t print_of(const TransferCall& call) noexcept {
  std::uint64_t print = call.stream * patterns::column_factor(0);
  for (unsigned i = 0; i < 3; ++i) {
    print += static_cast<std::uint64_t>(call.numbers[i]) * patterns::column_factor(3 + i);
  }
  return print;
}

bool same_stream(const TransferCall& a, const TransferCall& b) noexcept {
  return a.stream == b.stream;
}

}  // namespace

void RepeatCursor::wrote(const TransferCall& call, bool may_count) noexcept {
  end_list();
  end_loop();
  remember(call);
  if (!may_count || left_ == 0) return;
  // In a quiet spell a list follows, unless the last loop's stride mostly goes on after a jump.
  may_list_ = !alert_ && !(has_guess_ && same_stream(call, guess_.next));
  last_ = call;
  for (std::int64_t& number : last_step_) number = INT64_MIN;
  if (const unsigned period = find_loop(); period != 0) {
    start_loop(period);
  } else if (has_guess_ && same_stream(call, guess_.next)) {
    expect_step(call, guess_.stride);
  }
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
  publish_listed(list_call_bytes(0), start_ticks, duration_ticks, *ring.word);
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

void RepeatCursor::start_loop(unsigned period) noexcept {
  for (unsigned i = 0; i < period; ++i) {
    const TransferCall& last = back(period - 1 - i);
    const TransferCall& before = back(2 * period - 1 - i);
    Leaf& leaf = leaves_[i];
    leaf.next = last;
    for (int k = 0; k < 3; ++k) leaf.stride[k] = step(last.numbers[k], before.numbers[k]);
    go_on(leaf);
  }
  expect(period);
}

void RepeatCursor::wrote_other() noexcept {
  end_list();
  end_loop();
  count_ = 0;
}

void RepeatCursor::emptied() noexcept {
  wrote_other();
  list_all_ = false;
  left_ = kMostRepeatedCalls;
}

// A loop of which calls were counted stands in the ring: what is written next has no calls right
// before it any more.
void RepeatCursor::end_loop() noexcept {
  if (calls_ != nullptr) {
    has_guess_ = period_ == 1 || (period_ == 0 && has_guess_);
    if (period_ == 1) guess_ = leaves_[0];
    guess_misses_ = 0;
    calls_ = nullptr;
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

void RepeatCursor::remember(const TransferCall& call) noexcept {
  const bool was_alert = is_alert();
  ++fruitless_;
  alert_ = is_alert();
  if (alert_ && !was_alert) count_ = 0;  // calls without a print lie behind
  if (count_ == 0) std::memset(matches_, 0, sizeof matches_);
  ++count_;
  Seen& newest = seen_[count_ % kHistory];
  newest.call = call;
  if (!alert_) return;
  newest.print = print_of(call);
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
    const TransferCall& now = back(i);
    const TransferCall& before = back(i + period);
    const TransferCall& still_before = back(i + 2 * period);
    std::uint64_t different = 0;
    for (int k = 0; k < 3; ++k) {
      different |= word(step(now.numbers[k], before.numbers[k])) ^
                   word(step(before.numbers[k], still_before.numbers[k]));
    }
    if (different != 0 || !same_stream(now, before) || !same_stream(before, still_before)) {
      return false;
    }
    for (unsigned other = 0; other < i; ++other) {
      if (same_stream(now, back(other))) return false;
    }
  }
  return true;
}

bool RepeatCursor::begin_record(Ring& ring) noexcept {
  if (!ring.in_file) return false;
  const std::uint64_t word = ring.word->load(std::memory_order_relaxed);
  const std::size_t used = static_cast<std::uint32_t>(word), bytes = repeat_bytes(period_);
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
  auto* const written = reinterpret_cast<RepeatLeaf*>(record + sizeof head);
  for (unsigned i = 0; i < period_; ++i) {
    RepeatLeaf leaf{};
    std::memcpy(leaf.stride, leaves_[i].stride, sizeof leaf.stride);
    leaf.least_ticks = UINT64_MAX;
    std::memcpy(&written[i], &leaf, sizeof leaf);
    leaves_[i].written = &written[i];
  }
  ring.word->store(word + bytes, std::memory_order_release);
  return true;
}

}  // namespace iotune::recorder
