#include "recorder/regions/regions.h"

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "core/os/fnv1a.h"
#include "core/os/private_memory.h"
#include "core/process/thread_state.h"
#include "recorder/regions/deep_regions.h"
#include "recorder/regions/ring_account.h"
#include "recorder/ring/buffer_state.h"
#include "recorder/ring/record_writer.h"
#include "recorder/ring/ring_pool.h"

namespace iotune::recorder {
namespace {

// Of a thread. A name counts once for each region that it is found in.
constexpr int kMostNames = 128;
// Names beyond these are summed under one.
constexpr int kOtherNames = kMostNames - 1;
constexpr const char* kOtherName = "(other regions)";
constexpr int kMostOpen = 64;
// Entries of a name that are recorded one by one.
constexpr std::uint32_t kMostAlone = 256;
// Longer names are cut; its hash distinguishes what was cut off.
constexpr std::size_t kNameBytes = 208, kHashDigits = 8;
// Before there is a file records of regions have to fit into the early ring, and leave room for
// calls: for each name what its first entry and its sum take, and further entries as far as they
// fit.
constexpr std::size_t kEarlyNamesBytes = 32u << 10, kEarlyEntriesBytes = 4u << 10;
static_assert(kEarlyNamesBytes + kEarlyEntriesBytes + kManyEarlyBytes < kEarlyRingBytes);

// A region in its place among the others.
struct Name {
  char text[kNameBytes];
  std::uint64_t hash;
  int parent;           // its number; -1: none
  std::uint32_t alone;  // entries that were recorded one by one
  // The others, since the ring was emptied last.
  std::uint32_t epoch;      // of the ring, when …
  std::uint32_t record_at;  // … their record was written here
  bool has_record;
  std::uint64_t count, ticks, least_ticks, largest_ticks, first_ticks, last_ticks;
  std::uint64_t noted_ticks;  // the record's own time: the end of the first of these entries
  std::int64_t first_value;
  IoTotals io;
};

struct Open {
  int name;
  bool alone;
  RegionOwner owner;
  std::uint64_t hash;  // of the name as the program gave it
  std::uint64_t begin_ticks;
  std::int64_t value;
  IoTotals io;  // inside it, and in what was inside it and has ended
};

std::uint64_t to_ns(std::uint64_t ticks) noexcept {
  const std::uint64_t mult = g_buffer.file.exists()
                                 ? g_buffer.rate.mult
                                 : rate_between(first_reading(), read_clocks(), {}).mult;
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(ticks) * mult) >>
                                    TickRate::kShift);
}
std::int64_t signed_ns(std::uint64_t ticks) noexcept {
  return static_cast<std::int64_t>(to_ns(ticks));
}

std::uint64_t hash_of(const char* name) noexcept {
  return Fnv1a::of(name);
}

// The text of a name in the trace.
void copy_name(const char* name, std::uint64_t hash, char (&to)[kNameBytes]) noexcept {
  std::size_t bytes = strnlen(name, kNameBytes);
  if (bytes < kNameBytes) {
    std::memcpy(to, name, bytes + 1);
    return;
  }
  static constexpr char kDots[] = "...";
  bytes = kNameBytes - sizeof kDots - kHashDigits;
  // Not within a character of UTF-8.
  while (bytes > 0 && (static_cast<unsigned char>(name[bytes]) & 0xc0U) == 0x80) --bytes;
  std::memcpy(to, name, bytes);
  std::memcpy(to + bytes, kDots, sizeof kDots - 1);
  bytes += sizeof kDots - 1;
  for (unsigned i = 0; i < kHashDigits; ++i) {
    to[bytes + i] = "0123456789abcdef"[hash >> (4 * (kHashDigits - 1 - i)) & 0xf];
  }
  to[bytes + kHashDigits] = '\0';
}

// The places of what is updated in an iotune_regions record (generate_call_table.py).
enum Place : unsigned {
  kRegion,
  kParent,
  kCount,
  kNs,
  kLeastNs,
  kLargestNs,
  kIoNs,
  kCalls,
  kBytesRead,
  kBytesWritten,
  kBeforeNs,
  kSpanNs,
  kFirstValue,
  kLastValue,
  kPlaces
};

constexpr std::size_t kBeginNumbers = 3, kEndNumbers = 8;

std::size_t record_bytes(std::size_t numbers, std::size_t text_bytes) noexcept {
  return kRecordHeadBytes + 8 * numbers + ((text_bytes + 7) & ~std::size_t{7});
}
std::size_t entry_bytes(std::size_t text_bytes) noexcept {
  return record_bytes(kBeginNumbers, text_bytes) + record_bytes(kEndNumbers, text_bytes);
}
std::size_t first_bytes(std::size_t text_bytes) noexcept {
  return entry_bytes(text_bytes) + record_bytes(kPlaces, text_bytes);
}

}  // namespace

struct RegionTable {
  int names, open;
  std::size_t early_names_bytes, early_entries_bytes;
  Ring* ring;
  RingAccount account;
  Open stack[kMostOpen];
  Name name[kMostNames];
  DeepRegions deep;  // beyond kMostOpen

  // Counts what the thread's calls did since the last time for the innermost region.
  void take() noexcept {
    IoTotals unused;
    account.take(*ring, open > 0 ? stack[open - 1].io : unused);
  }
  int find(const char* text, std::uint64_t hash) noexcept;
  int find_others() noexcept;
  bool has_room_for(const Name& entered) noexcept;
  template <typename Write>
  void mark(CallNumber number, std::uint64_t at_ticks, Write write) noexcept;
  void begin(RegionOwner owner, const char* text, std::int64_t value) noexcept;
  bool end(RegionOwner owner, const char* text) noexcept;
  void end_innermost(std::uint64_t now) noexcept;
  void write_end(const Open& region, std::uint64_t now) noexcept;
  void add_to_sum(const Open& region, std::uint64_t now) noexcept;
  void write_sum(int number, std::int64_t value) noexcept;
};

int RegionTable::find(const char* text, std::uint64_t hash) noexcept {
  const int parent = open > 0 ? stack[open - 1].name : -1;
  for (int i = 0; i < names; ++i) {
    if (name[i].hash == hash && name[i].parent == parent) return i;
  }
  if (names == kOtherNames) return find_others();
  if (!ring->in_file) {
    const std::size_t bytes = first_bytes(strnlen(text, kNameBytes - 1));
    const std::size_t others_bytes = first_bytes(std::strlen(kOtherName));
    if (early_names_bytes + bytes + others_bytes > kEarlyNamesBytes) return find_others();
    early_names_bytes += bytes;
  }
  Name& added = name[names];
  copy_name(text, hash, added.text);
  added.hash = hash;
  added.parent = parent;
  return names++;
}

int RegionTable::find_others() noexcept {
  Name& others = name[kOtherNames];
  std::memcpy(others.text, kOtherName, std::strlen(kOtherName) + 1);
  others.parent = -1;
  return kOtherNames;
}

// Whether one more entry of the name is recorded by itself. The first one always is: from then on a
// reader knows the name, also as the one around others.
bool RegionTable::has_room_for(const Name& entered) noexcept {
  if (entered.alone == 0 || ring->in_file) return entered.alone < kMostAlone;
  const std::size_t bytes = entry_bytes(std::strlen(entered.text));
  if (entered.alone == kMostAlone || early_entries_bytes + bytes > kEarlyEntriesBytes) return false;
  early_entries_bytes += bytes;
  return true;
}

template <typename Write>
void RegionTable::mark(CallNumber number, std::uint64_t at_ticks, Write write) noexcept {
  const std::uint32_t before = used_of(ring->word->load(std::memory_order_relaxed));
  RecordWriter record(number, at_ticks, *ring);
  write(record);
  record.commit();
  if (ring->in_file) return;
  ring->mark_bytes += used_of(ring->word->load(std::memory_order_relaxed)) - before;
}

void RegionTable::begin(RegionOwner owner, const char* text, std::int64_t value) noexcept {
  take();
  if (open == kMostOpen) {
    deep.begin(owner, hash_of(text));
    return;
  }
  const std::uint64_t hash = hash_of(text);
  const int number = find(text, hash);
  Name& entered = name[number];
  Open& region = stack[open];
  region = {number, has_room_for(entered), owner, hash, ticks_now(), value, {}};
  if (region.alone) {
    ++entered.alone;
    mark(CallNumber::kiotune_region_begin, region.begin_ticks, [&](RecordWriter& record) {
      record.numbers({number, entered.parent, value});
      record.text(entered.text);
    });
  }
  ++open;
}

bool RegionTable::end(RegionOwner owner, const char* text) noexcept {
  take();
  const std::uint64_t hash = text == nullptr ? 0 : hash_of(text);
  if (deep.end(owner, text == nullptr ? nullptr : &hash)) return true;
  int at = open - 1;
  while (at >= 0 && (stack[at].owner != owner || (text != nullptr && stack[at].hash != hash))) --at;
  if (at < 0) return false;
  deep.end_all();
  const std::uint64_t now = ticks_now();
  while (open > at) end_innermost(now);
  return true;
}

void RegionTable::end_innermost(std::uint64_t now) noexcept {
  const Open& region = stack[--open];
  if (open > 0) stack[open - 1].io.add(region.io);
  if (region.alone) {
    write_end(region, now);
  } else {
    add_to_sum(region, now);
  }
}

void RegionTable::write_end(const Open& region, std::uint64_t now) noexcept {
  const Name& ended = name[region.name];
  mark(CallNumber::kiotune_region_end, now, [&](RecordWriter& record) {
    record.numbers({region.name, ended.parent, region.value, signed_ns(now - region.begin_ticks),
                    signed_ns(region.io.ticks), static_cast<std::int64_t>(region.io.calls),
                    static_cast<std::int64_t>(region.io.read_bytes),
                    static_cast<std::int64_t>(region.io.written_bytes)});
    record.text(ended.text);
  });
}

void RegionTable::add_to_sum(const Open& region, std::uint64_t now) noexcept {
  Name& summed = name[region.name];
  const std::uint64_t ticks = now - region.begin_ticks;
  if (!summed.has_record || summed.epoch != epoch_of(ring->word->load(std::memory_order_relaxed))) {
    summed.has_record = false;
    summed.count = summed.ticks = summed.largest_ticks = 0;
    summed.least_ticks = UINT64_MAX;
    summed.first_ticks = region.begin_ticks;
    summed.noted_ticks = now;
    summed.first_value = region.value;
    summed.io = {};
  }
  ++summed.count;
  summed.ticks += ticks;
  if (ticks < summed.least_ticks) summed.least_ticks = ticks;
  if (ticks > summed.largest_ticks) summed.largest_ticks = ticks;
  summed.last_ticks = now;
  summed.io.add(region.io);
  write_sum(region.name, region.value);
}

void RegionTable::write_sum(int number, std::int64_t value) noexcept {
  Name& summed = name[number];
  const std::int64_t numbers[kPlaces] = {number,
                                         summed.parent,
                                         static_cast<std::int64_t>(summed.count),
                                         signed_ns(summed.ticks),
                                         signed_ns(summed.least_ticks),
                                         signed_ns(summed.largest_ticks),
                                         signed_ns(summed.io.ticks),
                                         static_cast<std::int64_t>(summed.io.calls),
                                         static_cast<std::int64_t>(summed.io.read_bytes),
                                         static_cast<std::int64_t>(summed.io.written_bytes),
                                         signed_ns(summed.noted_ticks - summed.first_ticks),
                                         signed_ns(summed.last_ticks - summed.first_ticks),
                                         summed.first_value,
                                         value};
  if (!summed.has_record) {
    mark(CallNumber::kiotune_regions, summed.noted_ticks, [&](RecordWriter& record) {
      for (const std::int64_t number_of_it : numbers) record.number(number_of_it);
      record.text(summed.text);
    });
    const std::uint64_t word = ring->word->load(std::memory_order_relaxed);
    const std::size_t bytes = record_bytes(kPlaces, std::strlen(summed.text));
    if (used_of(word) < bytes) return;
    const std::size_t at = used_of(word) - bytes;
    RingRecord written;
    // It was dropped where there was no room.
    if (!written.read({ring->records + at, bytes}, kCallCount) || written.size() != bytes ||
        written.function() != static_cast<std::uint16_t>(CallNumber::kiotune_regions)) {
      return;
    }
    summed.has_record = true;
    summed.epoch = epoch_of(word);
    summed.record_at = static_cast<std::uint32_t>(at);
    return;
  }
  // Word by word: of a process that is killed here some are of the entry before.
  auto* const words =
      reinterpret_cast<std::int64_t*>(ring->records + summed.record_at + kRecordHeadBytes);
  for (unsigned i = kCount; i < kPlaces; ++i) {
    __atomic_store_n(words + i, numbers[i], __ATOMIC_RELAXED);
  }
}

namespace {

RegionTable* table_of_this_thread(bool may_make) noexcept {
  // Without a traced call there is no trace: until then marks wait in memory, however many.
  Ring* const ring = ring_for_marks();
  if (ring == nullptr) return nullptr;
  if (ring->regions != nullptr || !may_make) return ring->regions;
  auto* const table = static_cast<RegionTable*>(private_memory(sizeof(RegionTable)));
  if (table == nullptr) return nullptr;
  table->ring = ring;
  ring->regions = table;
  remember_regions(*ring, table);
  IoTotals before;
  table->account.take(*ring, before);
  return table;
}

bool may_record() noexcept {
  return g_recording >= kRecorded && t_thread.ours == 0;
}

}  // namespace

int begin_region(RegionOwner owner, const char* name, std::int64_t value) noexcept {
  if (!may_record()) return ENOTSUP;
  const int kept = errno;
  const OwnCode own;
  RegionTable* const table = table_of_this_thread(true);
  if (table != nullptr) table->begin(owner, name == nullptr ? "" : name, value);
  errno = kept;
  return table != nullptr ? 0 : ENOTSUP;
}

int end_region(RegionOwner owner, const char* name) noexcept {
  if (!may_record()) return ENOTSUP;
  const int kept = errno;
  const OwnCode own;
  RegionTable* const table = table_of_this_thread(false);
  const bool ended = table != nullptr && table->end(owner, name);
  errno = kept;
  return ended ? 0 : EINVAL;
}

void account_before_emptying(Ring& ring) noexcept {
  if (ring.regions == nullptr) return;
  ring.regions->take();
}

void forget_regions(RegionTable* table) noexcept {
  if (table == nullptr) return;
  Ring* const ring = table->ring;
  std::memset(static_cast<void*>(table), 0, sizeof *table);
  table->ring = ring;
}

void free_regions(RegionTable* table) noexcept {
  if (table != nullptr) unmap(table, sizeof *table);
}

}  // namespace iotune::recorder
