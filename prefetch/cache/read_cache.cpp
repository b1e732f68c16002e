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

constexpr PieceRules kRules{.unit_bytes = 64 << 10, .overlap = true};
constexpr unsigned kMostPiecesOfStream = 96;

// Of one stream.
struct Held : PieceIndex, PieceReader {
  int fd;
  std::uint32_t file;
  FileStamp stamp;
  std::uint64_t word, served;
};

struct Cache {
  SleepLock lock;
  std::atomic<std::uint32_t> filled, waiting;
  Held held[kMostStreams];
};

// Both in one mapping, with the units behind them.
constinit Cache* g_cache = nullptr;
constinit PieceTable g_table;
constinit bool g_left = false;  // half changed: an index may be none. Of the lock

Piece* named(PieceName name) noexcept {
  return g_left ? nullptr : g_table.named(name);
}

// Of a piece that is not dropped.
unsigned slot_of_held(const Piece& piece) noexcept {
  return static_cast<unsigned>(static_cast<const Held*>(piece.index) - g_cache->held);
}

bool is_of(const Held& held, const CachedStream& stream) noexcept {
  return !g_left && held.fd == stream.fd && held.file == stream.file && held.file != 0;
}

}  // namespace

bool set_up_read_cache(std::uint64_t memory_bytes) noexcept {
  if (g_cache != nullptr) return true;
  const auto units =
      static_cast<unsigned>(std::max<std::uint64_t>(memory_bytes, kPieceBytes) / kRules.unit_bytes);
  const std::size_t page = 65536;  // on systems with large ones, too
  const auto rounded = [](std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; };
  const std::size_t table_at = rounded(sizeof(Cache), 8);
  const std::size_t room_at = rounded(table_at + PieceTable::heads_bytes(units), page);
  const std::size_t bytes = room_at + std::size_t{units} * kRules.unit_bytes;
  void* const memory = private_memory(bytes);
  if (memory == nullptr) return false;
  constexpr long kWipeOnFork = 18;  // MADV_WIPEONFORK, Linux 4.14
  if (raw::call(SYS_madvise, raw::word(memory), raw::word(bytes), kWipeOnFork) != 0) {
    unmap(memory, bytes);
    return false;
  }
  auto* const at = static_cast<std::byte*>(memory);
  g_table.use(at + table_at, at + room_at, units, kRules);
  __atomic_store_n(&g_cache, static_cast<Cache*>(memory), __ATOMIC_RELEASE);
  return true;
}

bool is_any_cached(unsigned slot) noexcept {
  const Cache* const cache = __atomic_load_n(&g_cache, __ATOMIC_ACQUIRE);
  return cache != nullptr && cache->held[slot].count.load(std::memory_order_relaxed) != 0;
}

PieceName add_piece(const CachedStream& stream, const FileStamp& stamp, std::uint64_t word,
                    const Extent& extent, std::uint64_t now_ns) noexcept {
  const SleepGuard guard(g_cache->lock);
  if (g_left) return {};
  Held& held = g_cache->held[stream.slot];
  if (!is_of(held, stream)) held.reads = held.served = 0;
  if (!is_of(held, stream) || held.stamp != stamp || held.word != word) {
    g_table.drop_all(held);
    held.fd = stream.fd;
    held.file = stream.file;
    held.stamp = stamp;
    held.word = word;
  }
  const PieceName name = g_table.add(held, &held, extent, now_ns);
  if (name.number == kNoPiece ||
      held.count.load(std::memory_order_relaxed) <= kMostPiecesOfStream) {
    return name;
  }
  // The oldest has not been read while so many others were wanted.
  const unsigned oldest = g_table.oldest(held);
  if (oldest != kNoPiece && g_table.piece(oldest).state == PieceState::kReady) g_table.drop(oldest);
  return name;
}

bool slot_of_piece(PieceName name, unsigned& slot) noexcept {
  const SleepGuard guard(g_cache->lock);
  const Piece* const piece = named(name);
  if (piece == nullptr || piece->state != PieceState::kWanted) return false;
  slot = slot_of_held(*piece);
  return true;
}

Filling begin_filling(PieceName name) noexcept {
  const SleepGuard guard(g_cache->lock);
  const Piece* const piece = named(name);
  if (piece == nullptr || piece->state != PieceState::kWanted) return {};
  g_table.begin_filling(name.number);
  const unsigned slot = slot_of_held(*piece);
  // Who closes the descriptor drops its pieces first, then waits for this to be 0.
  slot_number(slot)->in_flight.begin();
  return {g_table.memory_of(name.number), {piece->offset, piece->wanted}, slot};
}

void end_filling(PieceName name, std::int64_t bytes) noexcept {
  {
    const SleepGuard guard(g_cache->lock);
    if (named(name) == nullptr) return;
    g_table.end_filling(name.number, bytes == 0 ? -1 : bytes);
    g_cache->filled.fetch_add(1, std::memory_order_seq_cst);
  }
  if (g_cache->waiting.load(std::memory_order_seq_cst) != 0) wake_all(g_cache->filled);
}

Found find_pieces(const CachedStream& stream, const FileStamp& stamp, std::uint64_t word,
                  const Extent& extent, FoundPart* parts, unsigned room, unsigned& count) noexcept {
  const SleepGuard guard(g_cache->lock);
  Held& held = g_cache->held[stream.slot];
  if (!is_of(held, stream)) return Found::kNothing;
  if (held.stamp != stamp || held.word != word) {
    g_table.drop_all(held);
    return Found::kNothing;
  }
  ++held.reads;
  return g_table.find(held, extent, parts, room, count);
}

void take_over(const CachedStream& stream, const Extent& extent) noexcept {
  const SleepGuard guard(g_cache->lock);
  Held& held = g_cache->held[stream.slot];
  if (is_of(held, stream)) g_table.drop_wanted(held, extent);
}

bool used_pieces(const FoundPart* parts, unsigned count) noexcept {
  const SleepGuard guard(g_cache->lock);
  for (unsigned i = 0; i < count; ++i) {
    const Piece* const piece = named(parts[i].piece);
    if (piece == nullptr || piece->state != PieceState::kReady) return false;
  }
  for (unsigned i = 0; i < count; ++i) {
    const unsigned number = parts[i].piece.number;
    g_table.use_bytes(number, parts[i].length);
    const Piece& piece = g_table.piece(number);
    if (piece.used == piece.bytes) g_table.drop(number);
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
  const SleepGuard guard(g_cache->lock);
  const Piece* const piece = named(name);
  if (piece != nullptr && piece->state != PieceState::kDropped) g_table.drop(name.number);
}

void drop_stream(unsigned slot, bool ends) noexcept {
  if (__atomic_load_n(&g_cache, __ATOMIC_ACQUIRE) == nullptr) return;
  {
    const SleepGuard guard(g_cache->lock);
    if (g_left) return;
    Held& held = g_cache->held[slot];
    g_table.drop_all(held);
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
  const SleepGuard guard(g_cache->lock);
  return g_cache->held[slot].served;
}

void count_served(unsigned slot) noexcept {
  const SleepGuard guard(g_cache->lock);
  ++g_cache->held[slot].served;
}

}  // namespace iotune::prefetch
