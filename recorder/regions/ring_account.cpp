#include "recorder/regions/ring_account.h"

#include <cstring>

#include "core/process/thread_state.h"
#include "recorder/meaning_by_call.h"
#include "recorder/ring/buffer_state.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"

namespace iotune::recorder {
namespace {

constexpr std::int8_t kNowhere = CallMeaning::kNowhere;

constexpr bool is_file_work(const CallMeaning& meaning) noexcept {
  if (meaning.verb == Verb::kNotes || meaning.order) return false;
  switch (meaning.thing) {
    case Thing::kNone:
    case Thing::kType:
    case Thing::kSpace:
    case Thing::kPlist:
    case Thing::kProcess:
    case Thing::kMpi:
      return false;
    default:
      return true;
  }
}

// Bits: the call is counted; its time, too (what runs the program's code has that code's time in
// it); it reads; it writes.
constexpr std::int8_t kCounted = 1, kTimed = 2, kReads = 4, kWrites = 8, kOfDataset = 16;
// Of a record: another recorded call made it; its file is stdout's.
constexpr std::int8_t kInside = 32, kOfStdout = 64;
constexpr MeaningByCall kWork([](const CallMeaning& meaning) {
  if (!is_file_work(meaning)) return std::int8_t{0};
  int bits = kCounted;
  if (!meaning.calls_back) bits |= kTimed;
  if (meaning.moves_data()) {
    bits |= meaning.verb == Verb::kWrites ? kWrites : kReads;
    if (meaning.thing == Thing::kDataset && !meaning.chunk) bits |= kOfDataset;
  }
  return static_cast<std::int8_t>(bits);
});
// FORMAT.md, "Extras of a transfer of HDF5": object, mode, bytes of the memory type, points.
constexpr int kTypeBytesAfterResult = 3, kPointsAfterResult = 4;
constexpr MeaningByCall kBytes([](const CallMeaning& meaning) { return meaning.bytes_place; });
constexpr MeaningByCall kItemBytes([](const CallMeaning& meaning) {
  return meaning.item_bytes_place;
});
constexpr MeaningByCall kResult([](const CallMeaning& meaning) { return meaning.result_place; });

CallNumber number_of(const RingRecord& record) noexcept {
  return static_cast<CallNumber>(record.function());
}

std::int64_t word_at(const std::byte* words, unsigned index) noexcept {
  std::int64_t value;
  std::memcpy(&value, words + std::size_t{8} * index, 8);
  return value;
}

// Its keys are the descriptor and the file's number.
bool is_of_stdout(const RingRecord& record) noexcept {
  const std::uint32_t file = file_of_stdout();
  return file != 0 && record.keys() == 2 && word_at(record.key_bytes(), 1) == file;
}

int work_of(const RingRecord& record) noexcept {
  const int work = kWork[number_of(record)];
  if ((record.layers() & kLayerBits) != 0) return (work & ~(kCounted | kTimed)) | kInside;
  return is_of_stdout(record) ? work | kOfStdout : work;
}

// The numbers whose product is what the call moved; below 0: none. A call on several datasets
// (H5Dwrite_multi) says it behind arrays: what it moved is not counted.
struct Places {
  int factor, other;
};
Places places_of(const RingRecord& record, int work) noexcept {
  const CallNumber number = number_of(record);
  Places places{kBytes[number], kItemBytes[number]};
  if ((work & kOfDataset) != 0) {
    const int result = kResult[number];
    if (result < 0) return {kNowhere, kNowhere};
    places = {result + kPointsAfterResult, result + kTypeBytesAfterResult};
  }
  const int numbers = record.numbers();
  if (places.factor >= numbers || places.other >= numbers) return {kNowhere, kNowhere};
  return places;
}

// MPI's results are error codes, HDF5's are negative where they failed, POSIX's are the bytes.
bool has_failed(const RingRecord& record) noexcept {
  const CallNumber number = number_of(record);
  const int result = kResult[number];
  if (result < 0 || result >= record.numbers() || result == kBytes[number]) return false;
  const std::int64_t value = word_at(record.number_bytes(), static_cast<unsigned>(result));
  return kItemBytes[number] != kNowhere ? value != 0 : value < 0;
}

void add_bytes(int work, std::int64_t bytes, IoTotals& to) noexcept {
  if (bytes <= 0) return;
  const auto moved = static_cast<std::uint64_t>(bytes);
  if ((work & kInside) != 0) {
    if ((work & (kReads | kWrites)) != 0) to.inner_bytes += moved;
    return;
  }
  if ((work & kOfStdout) != 0) to.stdout_bytes += moved;
  if ((work & kReads) != 0) to.read_bytes += moved;
  if ((work & kWrites) != 0) to.written_bytes += moved;
}

std::int64_t bytes_of(const RingRecord& record, int work) noexcept {
  if ((work & (kReads | kWrites)) == 0 || has_failed(record)) return 0;
  const Places places = places_of(record, work);
  if (places.factor < 0) return 0;
  const std::byte* const numbers = record.number_bytes();
  const std::int64_t factor = word_at(numbers, static_cast<unsigned>(places.factor));
  if (places.other < 0) return factor;
  const std::int64_t other = word_at(numbers, static_cast<unsigned>(places.other));
  return factor > 0 && other > 0 ? factor * other : 0;
}

// Calls of leaf `index` among the first `calls` of a repeat.
std::uint64_t turns_of(std::uint64_t calls, unsigned index, unsigned period) noexcept {
  return calls > index ? (calls - index - 1) / period + 1 : 0;
}

}  // namespace

void RingAccount::take_record(const RingRecord& record, IoTotals& to) const noexcept {
  const int work = work_of(record);
  if ((work & kCounted) != 0) ++to.calls;
  if ((work & kTimed) != 0) to.ticks += record.duration_ticks();
  add_bytes(work, bytes_of(record, work), to);
}

bool RingAccount::read_recent(const Records& ring, unsigned back,
                              RingRecord& record) const noexcept {
  if (back > records_ || back > kRecent) return false;
  const std::size_t at = recent_[(records_ - back) % kRecent];
  return record.read({ring.bytes + at, ring.capacity - at}, kCallCount);
}

// False where the records before are not known.
bool RingAccount::take_repeat(const Records& ring, const RingRecord& repeat,
                              IoTotals& to) noexcept {
  const std::uint64_t calls = repeat.repeated_calls();
  const unsigned period = repeat.period();
  for (unsigned i = 0; i < period; ++i) {
    RingRecord record;
    if (!read_recent(ring, period - i, record)) return false;
    const RepeatLeaf leaf = repeat.leaf(i);
    const std::uint64_t before = turns_of(calls_, i, period), now = turns_of(calls, i, period);
    const std::uint64_t came = now - before, ticks = leaf.sum_ticks - ticks_[i];
    ticks_[i] = leaf.sum_ticks;
    const int work = work_of(record);
    if ((work & kCounted) != 0) to.calls += came;
    if ((work & kTimed) != 0) to.ticks += ticks;
    if ((work & (kReads | kWrites)) == 0 || has_failed(record)) continue;
    const Places places = places_of(record, work);
    if (places.factor < 0) continue;
    // Turn j has the record's number and j strides more, j = 1 being the first.
    const auto value = [&](int place) {
      return word_at(record.number_bytes(), static_cast<unsigned>(place));
    };
    const auto stride = [&](int place) {
      return word_at(repeat.strides(i), static_cast<unsigned>(place));
    };
    const auto turns = static_cast<std::int64_t>(came);
    const auto steps = static_cast<std::int64_t>((before + 1 + now) * came / 2);
    std::int64_t bytes = turns * value(places.factor) + stride(places.factor) * steps;
    if (places.other >= 0) bytes *= value(places.other);
    add_bytes(work, bytes, to);
  }
  calls_ = calls;
  return true;
}

bool RingAccount::take_list(const Records& ring, const RingRecord& list, std::size_t at,
                            IoTotals& to) noexcept {
  RingRecord record;
  if (!read_recent(ring, 1, record)) return false;
  const ListHead head = list.list();
  const std::uint64_t calls = list.list_calls();
  const int work = work_of(record);
  const Places places = places_of(record, work);
  const std::size_t call_bytes = list_call_bytes(list.listed());
  const std::byte* const listed = ring.bytes + at + kListHeadBytes;
  for (std::uint64_t i = calls_; i < calls; ++i) {
    if (places.factor < 0) break;
    const std::byte* const call = listed + i * call_bytes;
    const auto place = static_cast<unsigned>(places.factor);
    if (list.listed() == 0) {
      listed_before_ = word_at(call, place);
    } else if (list.listed() == place + 1) {
      listed_before_ = word_at(call, 0);
    }
    add_bytes(work, listed_before_, to);
  }
  if ((work & kCounted) != 0) {
    to.calls += calls - calls_;
    if ((work & kTimed) != 0) to.ticks += head.sum_ticks - ticks_[0];
  }
  ticks_[0] = head.sum_ticks;
  calls_ = calls;
  return true;
}

void RingAccount::go_past(std::size_t bytes) noexcept {
  at_ += bytes;
  calls_ = 0;
  std::memset(ticks_, 0, sizeof ticks_);
}

void RingAccount::take(const Ring& ring, IoTotals& to) noexcept {
  take({ring.records, ring.capacity_bytes, ring.word->load(std::memory_order_acquire)}, to);
}

void RingAccount::take(const Records& ring, IoTotals& to) noexcept {
  const std::size_t used = used_of(ring.word);
  if (epoch_of(ring.word) != epoch_) {
    restart();
    epoch_ = epoch_of(ring.word);
  }
  while (at_ < used) {
    RingRecord record;
    if (!record.read({ring.bytes + at_, used - at_}, kCallCount)) return;
    bool known = true;
    if (record.is_repeat()) {
      known = take_repeat(ring, record, to);
    } else if (record.is_list()) {
      known = take_list(ring, record, at_, to);
    } else {
      take_record(record, to);
      recent_[records_++ % kRecent] = static_cast<std::uint32_t>(at_);
      const int work = work_of(record);
      listed_before_ = bytes_of(record, work);
    }
    // The newest entry may be gone on with.
    const bool grows = (record.is_repeat() || record.is_list()) && at_ + record.size() == used;
    if (grows && known) return;
    go_past(record.size());
  }
}

}  // namespace iotune::recorder
