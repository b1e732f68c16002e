#include "prefetch/cache/read_cache.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>

#include "core/os/futex.h"
#include "core/os/private_memory.h"
#include "prefetch/preload/stream_slots.h"

namespace iotune::prefetch {
namespace {

using patterns::Extent;

// Memory is given in these; a piece has the number of its first one.
constexpr std::int64_t kUnitBytes = 64 << 10;
constexpr unsigned kMostPiecesOfStream = 96;
// What has not been asked for after so many reads of its stream, or so long, never will be.
constexpr std::uint64_t kReadsUntilVain = 128, kNsUntilVain = 5'000'000'000;

enum class State : std::uint8_t { kFree, kWanted, kFilling, kReady, kDropped };

struct Piece {
  std::int64_t offset;
  std::uint32_t wanted, bytes, used;
  std::uint32_t birth;
  std::uint32_t next;  // of the same stream, one more than its number; 0: none
  std::uint16_t slot;
  std::uint8_t units;
  State state;
  std::uint64_t at_read, born_ns;
};

// Of one stream. Pieces are in the order in which they were wanted.
struct Held {
  int fd;
  std::uint32_t file;
  FileStamp stamp;
  std::uint64_t word;
  std::uint32_t first, count;  // first: one more than a number
  std::uint64_t reads, served;
};

struct Cache {
  ThreadLock lock;
  std::uint32_t births;
  std::uint32_t next_unit;
  std::atomic<std::uint32_t> filled, waiting;
  Held held[kMostStreams];
};

// All in one mapping: the cache, its pieces, a byte a unit, the units.
constinit Cache* g_cache = nullptr;
constinit Piece* g_pieces = nullptr;
constinit std::byte* g_units = nullptr;
constinit unsigned g_unit_count = 0;
constinit bool g_left = false;  // half changed: lists may be no lists. Of the lock

std::byte* memory_of(unsigned number) noexcept {
  return g_units + static_cast<std::int64_t>(number) * kUnitBytes;
}

Piece* named(PieceName name) noexcept {
  if (g_left || name.number >= g_unit_count) return nullptr;
  Piece& piece = g_pieces[name.number];
  return piece.state != State::kFree && piece.birth == name.birth ? &piece : nullptr;
}

// The first unit of a piece has its state, and all of them have units other than 0.
bool fits(unsigned first, unsigned units) noexcept {
  for (unsigned i = 0; i < units; ++i) {
    if (g_pieces[first + i].state != State::kFree || g_pieces[first + i].units != 0) return false;
  }
  return true;
}

void free_units(unsigned first) noexcept {
  const unsigned units = g_pieces[first].units;
  for (unsigned i = 0; i < units; ++i) {
    g_pieces[first + i].state = State::kFree;
    g_pieces[first + i].units = 0;
  }
}

void unlink(unsigned number) noexcept {
  Held& held = g_cache->held[g_pieces[number].slot];
  std::uint32_t* link = &held.first;
  while (*link != 0 && *link != number + 1) link = &g_pieces[*link - 1].next;
  if (*link == 0) return;
  *link = g_pieces[number].next;
  __atomic_store_n(&held.count, held.count - 1, __ATOMIC_RELAXED);
}

// What is being filled stays its filler's until that ends.
void drop(unsigned number) noexcept {
  unlink(number);
  if (g_pieces[number].state == State::kFilling) {
    g_pieces[number].state = State::kDropped;
  } else {
    free_units(number);
  }
}

void drop_all(Held& held) noexcept {
  while (held.first != 0) drop(held.first - 1);
}

std::int64_t end_of(const Piece& piece) noexcept {
  return piece.offset + piece.wanted;
}

// Nobody needs to begin what the program reads itself.
void drop_wanted(Held& held, const Extent& extent) noexcept {
  const std::int64_t end = extent.offset + extent.length;
  for (std::uint32_t next = held.first; next != 0;) {
    const unsigned number = next - 1;
    const Piece& piece = g_pieces[number];
    next = piece.next;
    if (piece.state == State::kWanted && piece.offset < end && end_of(piece) > extent.offset) {
      drop(number);
    }
  }
}

// The next free units after those that were given last.
unsigned free_run(unsigned units) noexcept {
  const unsigned last = g_unit_count - units;
  unsigned at = g_cache->next_unit > last ? 0 : g_cache->next_unit;
  for (unsigned tried = 0; tried <= last;) {
    const unsigned step =
        g_pieces[at].state != State::kFree ? std::max<unsigned>(1, g_pieces[at].units) : 1;
    if (step == 1 && fits(at, units)) {
      g_cache->next_unit = at + units;
      return at;
    }
    tried += step;
    at += step;
    if (at > last) at = 0;
  }
  return kNoPiece;
}

// The oldest of those that will not be asked for any more.
bool make_room(std::uint64_t now_ns) noexcept {
  unsigned oldest = kNoPiece;
  for (unsigned number = 0; number < g_unit_count; ++number) {
    const Piece& piece = g_pieces[number];
    if (piece.state != State::kReady) continue;
    const bool vain = g_cache->held[piece.slot].reads > piece.at_read + kReadsUntilVain ||
                      now_ns > piece.born_ns + kNsUntilVain;
    if (vain && (oldest == kNoPiece || piece.born_ns < g_pieces[oldest].born_ns)) oldest = number;
  }
  if (oldest == kNoPiece) return false;
  drop(oldest);
  return true;
}

bool is_of(const Held& held, const CachedStream& stream) noexcept {
  return !g_left && held.fd == stream.fd && held.file == stream.file && held.file != 0;
}

}  // namespace

bool set_up_read_cache(std::uint64_t memory_bytes) noexcept {
  if (g_cache != nullptr) return true;
  const auto units = static_cast<unsigned>(std::max<std::uint64_t>(memory_bytes, kPieceBytes) /
                                           static_cast<std::uint64_t>(kUnitBytes));
  const std::size_t page = 65536;  // on systems with large ones, too
  const auto rounded = [=](std::size_t bytes) { return (bytes + page - 1) / page * page; };
  const std::size_t heads = rounded(sizeof(Cache) + alignof(Piece) + units * sizeof(Piece));
  const std::size_t bytes = heads + static_cast<std::size_t>(units) * kUnitBytes;
  void* const memory = private_memory(bytes);
  if (memory == nullptr) return false;
  constexpr long kWipeOnFork = 18;  // MADV_WIPEONFORK, Linux 4.14
  if (raw::call(SYS_madvise, raw::word(memory), raw::word(bytes), kWipeOnFork) != 0) {
    unmap(memory, bytes);
    return false;
  }
  constexpr std::size_t kAlign = alignof(Piece);
  auto* const at = static_cast<std::byte*>(memory);
  g_pieces = reinterpret_cast<Piece*>(at + (sizeof(Cache) + kAlign - 1) / kAlign * kAlign);
  g_units = at + heads;
  g_unit_count = units;
  __atomic_store_n(&g_cache, static_cast<Cache*>(memory), __ATOMIC_RELEASE);
  return true;
}

bool is_any_cached(unsigned slot) noexcept {
  const Cache* const cache = __atomic_load_n(&g_cache, __ATOMIC_ACQUIRE);
  return cache != nullptr && __atomic_load_n(&cache->held[slot].count, __ATOMIC_RELAXED) != 0;
}

PieceName add_piece(const CachedStream& stream, const FileStamp& stamp, std::uint64_t word,
                    const Extent& extent, std::uint64_t now_ns) noexcept {
  const ThreadGuard guard(g_cache->lock);
  if (g_left) return {};
  Held& held = g_cache->held[stream.slot];
  if (!is_of(held, stream)) held.reads = held.served = 0;
  if (!is_of(held, stream) || held.stamp != stamp || held.word != word) {
    drop_all(held);
    held.fd = stream.fd;
    held.file = stream.file;
    held.stamp = stamp;
    held.word = word;
  }
  const auto units = static_cast<unsigned>((extent.length + kUnitBytes - 1) / kUnitBytes);
  unsigned number = free_run(units);
  while (number == kNoPiece && make_room(now_ns)) number = free_run(units);
  if (number == kNoPiece) return {};
  // The oldest has not been read while so many others were wanted.
  if (held.count >= kMostPiecesOfStream && g_pieces[held.first - 1].state == State::kReady) {
    drop(held.first - 1);
  }
  for (unsigned i = 0; i < units; ++i) g_pieces[number + i].units = 1;
  Piece& piece = g_pieces[number];
  piece = {extent.offset,
           static_cast<std::uint32_t>(extent.length),
           0,
           0,
           ++g_cache->births,
           0,
           static_cast<std::uint16_t>(stream.slot),
           static_cast<std::uint8_t>(units),
           State::kWanted,
           held.reads,
           now_ns};
  std::uint32_t* link = &held.first;
  while (*link != 0) link = &g_pieces[*link - 1].next;
  *link = number + 1;
  __atomic_store_n(&held.count, held.count + 1, __ATOMIC_RELAXED);
  return {number, piece.birth};
}

bool slot_of_piece(PieceName name, unsigned& slot) noexcept {
  const ThreadGuard guard(g_cache->lock);
  const Piece* const piece = named(name);
  if (piece == nullptr || piece->state != State::kWanted) return false;
  slot = piece->slot;
  return true;
}

Filling begin_filling(PieceName name) noexcept {
  const ThreadGuard guard(g_cache->lock);
  Piece* const piece = named(name);
  if (piece == nullptr || piece->state != State::kWanted) return {};
  piece->state = State::kFilling;
  // Who closes the descriptor drops its pieces first, then waits for this to be 0.
  slot_number(piece->slot)->in_flight.begin();
  return {memory_of(name.number), {piece->offset, piece->wanted}, piece->slot};
}

void end_filling(PieceName name, std::int64_t bytes) noexcept {
  {
    const ThreadGuard guard(g_cache->lock);
    Piece* const piece = named(name);
    if (piece == nullptr) return;
    if (piece->state == State::kDropped) {
      free_units(name.number);
    } else if (bytes <= 0) {
      piece->state = State::kReady;
      drop(name.number);
    } else {
      piece->bytes = static_cast<std::uint32_t>(bytes);
      piece->state = State::kReady;
    }
    g_cache->filled.fetch_add(1, std::memory_order_seq_cst);
  }
  if (g_cache->waiting.load(std::memory_order_seq_cst) != 0) wake_all(g_cache->filled);
}

Found find_pieces(const CachedStream& stream, const FileStamp& stamp, std::uint64_t word,
                  const Extent& extent, FoundPart* parts, unsigned room, unsigned& count) noexcept {
  const ThreadGuard guard(g_cache->lock);
  Held& held = g_cache->held[stream.slot];
  if (!is_of(held, stream)) return Found::kNothing;
  if (held.stamp != stamp || held.word != word) {
    drop_all(held);
    return Found::kNothing;
  }
  ++held.reads;
  const std::int64_t end = extent.offset + extent.length;
  std::int64_t at = extent.offset;
  bool under_way = false;
  count = 0;
  while (at < end) {
    unsigned number = kNoPiece;
    bool filling = false;
    for (std::uint32_t next = held.first; next != 0; next = g_pieces[next - 1].next) {
      const Piece& piece = g_pieces[next - 1];
      if (piece.offset > at) continue;
      if (piece.state == State::kReady && piece.offset + piece.bytes > at) {
        number = next - 1;
        filling = false;
        break;
      }
      if (piece.state == State::kFilling && end_of(piece) > at) {
        number = next - 1;
        filling = true;
      }
    }
    if (number == kNoPiece || (!filling && count == room)) {
      count = 0;
      break;
    }
    const Piece& piece = g_pieces[number];
    const std::int64_t to =
        std::min(end, filling ? end_of(piece) : piece.offset + std::int64_t{piece.bytes});
    if (!filling) {
      parts[count++] = {{number, piece.birth},
                        memory_of(number) + (at - piece.offset),
                        static_cast<std::size_t>(to - at)};
    }
    under_way = under_way || filling;
    at = to;
  }
  if (at >= end) return under_way ? Found::kUnderWay : Found::kWhole;
  drop_wanted(held, extent);
  return Found::kNothing;
}

void take_over(const CachedStream& stream, const Extent& extent) noexcept {
  const ThreadGuard guard(g_cache->lock);
  Held& held = g_cache->held[stream.slot];
  if (is_of(held, stream)) drop_wanted(held, extent);
}

bool used_pieces(const FoundPart* parts, unsigned count) noexcept {
  const ThreadGuard guard(g_cache->lock);
  for (unsigned i = 0; i < count; ++i) {
    const Piece* const piece = named(parts[i].piece);
    if (piece == nullptr || piece->state != State::kReady) return false;
  }
  for (unsigned i = 0; i < count; ++i) {
    Piece& piece = g_pieces[parts[i].piece.number];
    piece.used += static_cast<std::uint32_t>(
        std::min<std::size_t>(parts[i].length, piece.bytes - piece.used));
    if (piece.used == piece.bytes) drop(parts[i].piece.number);
  }
  return true;
}

std::uint32_t filled_count() noexcept {
  return g_cache->filled.load(std::memory_order_seq_cst);
}

void wait_for_filled(std::uint32_t seen) noexcept {
  g_cache->waiting.fetch_add(1, std::memory_order_seq_cst);
  // At times looked at anyway: who jumped out of here by a signal's handler is counted for ever.
  const timespec moment{0, 100'000'000};
  sleep_while(g_cache->filled, seen, &moment);
  g_cache->waiting.fetch_sub(1, std::memory_order_seq_cst);
}

void drop_piece(PieceName name) noexcept {
  const ThreadGuard guard(g_cache->lock);
  const Piece* const piece = named(name);
  if (piece != nullptr && piece->state != State::kDropped) drop(name.number);
}

void drop_stream(unsigned slot, bool ends) noexcept {
  if (__atomic_load_n(&g_cache, __ATOMIC_ACQUIRE) == nullptr) return;
  {
    const ThreadGuard guard(g_cache->lock);
    if (g_left) return;
    Held& held = g_cache->held[slot];
    drop_all(held);
    if (ends) held.file = 0;
    g_cache->filled.fetch_add(1, std::memory_order_seq_cst);
  }
  if (g_cache->waiting.load(std::memory_order_seq_cst) != 0) wake_all(g_cache->filled);
}

bool leave_cache_by_jump() noexcept {
  Cache* const cache = __atomic_load_n(&g_cache, __ATOMIC_ACQUIRE);
  if (cache == nullptr || !cache->lock.is_held()) return false;
  g_left = true;
  cache->lock.unlock();
  return true;
}

std::uint64_t served_reads(unsigned slot) noexcept {
  if (__atomic_load_n(&g_cache, __ATOMIC_ACQUIRE) == nullptr) return 0;
  const ThreadGuard guard(g_cache->lock);
  return g_cache->held[slot].served;
}

void count_served(unsigned slot) noexcept {
  const ThreadGuard guard(g_cache->lock);
  ++g_cache->held[slot].served;
}

}  // namespace iotune::prefetch
