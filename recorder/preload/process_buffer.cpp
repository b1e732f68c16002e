#include "recorder/preload/process_buffer.h"

#include <sched.h>

#include <cstring>
#include <initializer_list>

#include "patterns/bytes.h"
#include "patterns/crc32c.h"
#include "recorder/call_table.h"
#include "recorder/events_encoder.h"
#include "recorder/format.h"
#include "recorder/preload/configuration.h"
#include "recorder/preload/descriptor_table.h"
#include "recorder/preload/mapped_file.h"
#include "recorder/preload/process_text.h"
#include "recorder/preload/raw_syscall.h"
#include "recorder/preload/run_identity.h"
#include "recorder/preload/short_text.h"
#include "recorder/preload/thread_state.h"

namespace iotune::recorder {
namespace {

constexpr std::size_t kFirstBlockSegmentBytes = 64u << 10;
constexpr std::size_t kLargestBlockSegmentBytes = 4u << 20;
// Transfers of a process whose times are kept one by one before times are kept per pattern.
constexpr std::uint32_t kExactTransfers = 256;

enum class BufferState : std::uint32_t { kRunning = 0, kEnded = 1, kJoined = 2 };

struct SegmentEntry {
  std::uint32_t kind, thread;
  std::uint64_t offset, bytes;
};

struct BufferHeader {
  char magic[8];
  std::uint32_t version, header_bytes, pid, state;
  std::uint64_t first_ticks, first_realtime_ns, last_ticks, last_realtime_ns;
  std::uint64_t dropped;
  std::atomic<std::uint32_t> segments;
  std::uint32_t zero;
  std::uint8_t reserved[56];
  SegmentEntry segment[kMaxBufferSegments];
};
static_assert(offsetof(BufferHeader, segment) == 128 && sizeof(BufferHeader) <= kBufferHeadBytes);

struct BlockSegment {
  std::byte* memory;  // its first 64 bytes hold the bytes in use
  std::size_t bytes;
  std::atomic<std::uint64_t>& used() const noexcept {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(memory);
  }
};
constexpr std::size_t kSegmentHead = kRingHeadBytes;

// One process, one buffer. Taken by whoever encodes a ring or adds a segment; a signal handler
// of the same thread cannot get here, because OwnCode lets its calls through.
class BufferLock {
 public:
  BufferLock() noexcept {
    while (__atomic_exchange_n(&s_locked, true, __ATOMIC_ACQUIRE)) sched_yield();
  }
  ~BufferLock() { __atomic_store_n(&s_locked, false, __ATOMIC_RELEASE); }
  BufferLock(const BufferLock&) = delete;
  BufferLock& operator=(const BufferLock&) = delete;
  static constinit bool s_locked;
};
constinit bool BufferLock::s_locked = false;

struct Buffer {
  BufferHeader* header = nullptr;  // nullptr: no file yet
  ShortText<640> path;
  std::uint64_t file_bytes = 0;
  BlockSegment blocks[kMaxBufferSegments] = {};
  std::uint32_t block_segments = 0;
  Ring* rings[kMaxBufferSegments] = {};
  std::uint32_t ring_count = 0;
  std::uint16_t threads = 0;
  void* scratch = nullptr;
  std::size_t scratch_bytes = 0;
  ClockReading first = {};
  TickRate rate = {};
  std::uint32_t exact_budget = kExactTransfers;
  std::uint64_t calls = 0;
  std::uint64_t early_dropped = 0;
  std::uint64_t joined_at = 0;  // bytes in all block segments when joined; 0: never
  bool failed = false;
  bool inherited = false;  // this process was forked by one that had a buffer, and has none yet
};
constinit Buffer g_buffer;

std::uint64_t block_bytes() noexcept {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < g_buffer.block_segments; ++i) {
    sum += g_buffer.blocks[i].used().load(std::memory_order_relaxed);
  }
  return sum;
}

void give_up(MapFailure failure) noexcept {
  static constinit bool said = false;
  ShortText<800> text;
  text << g_buffer.path.c_str() << ": " << describe(failure)
       << ": calls from here on are counted, not recorded";
  say_once(said, text.c_str());
  g_buffer.failed = true;
}

// Adds a segment to the file. nullptr where there is no more room; said once.
std::byte* add_segment(SegmentKind kind, std::uint16_t thread, std::size_t bytes) noexcept {
  BufferHeader& header = *g_buffer.header;
  const std::uint32_t count = header.segments.load(std::memory_order_relaxed);
  if (g_buffer.failed || count == kMaxBufferSegments ||
      g_buffer.file_bytes + bytes > configuration().buffer_limit_bytes) {
    if (!g_buffer.failed) give_up(MapFailure::kNoSpace);
    return nullptr;
  }
  MapFailure failure{};
  void* const memory =
      extend_mapped(g_buffer.path.c_str(), g_buffer.file_bytes, bytes, failure);
  if (memory == nullptr) {
    give_up(failure);
    return nullptr;
  }
  header.segment[count] = {static_cast<std::uint32_t>(kind), thread, g_buffer.file_bytes, bytes};
  header.segments.store(count + 1, std::memory_order_release);
  g_buffer.file_bytes += bytes;
  if (kind == SegmentKind::kBlocks) {
    g_buffer.blocks[g_buffer.block_segments++] = {static_cast<std::byte*>(memory), bytes};
  }
  return static_cast<std::byte*>(memory);
}

// The last block segment with `bytes` free, or a new one of at least that size.
BlockSegment* segment_with(std::size_t bytes) noexcept {
  if (g_buffer.block_segments > 0) {
    BlockSegment& last = g_buffer.blocks[g_buffer.block_segments - 1];
    if (kSegmentHead + last.used().load(std::memory_order_relaxed) + bytes <= last.bytes) {
      return &last;
    }
  }
  std::size_t size = kFirstBlockSegmentBytes << (2 * (g_buffer.block_segments < 3
                                                          ? g_buffer.block_segments
                                                          : 3));
  if (size > kLargestBlockSegmentBytes) size = kLargestBlockSegmentBytes;
  while (size < kSegmentHead + bytes) size *= 2;
  if (add_segment(SegmentKind::kBlocks, 0, size) == nullptr) return nullptr;
  return &g_buffer.blocks[g_buffer.block_segments - 1];
}


// Completes and publishes the block whose payload stands already behind the head at `to`.
void publish_block(BlockSegment& segment, BlockType type, std::size_t payload_bytes) noexcept {
  const std::uint64_t used = segment.used().load(std::memory_order_relaxed);
  std::byte* const block = segment.memory + kSegmentHead + used;
  patterns::ByteWriter head({block, kBlockHeadBytes});
  head.u32le(kBlockMagic);
  head.u32le(static_cast<std::uint32_t>(type));
  head.u32le(static_cast<std::uint32_t>(payload_bytes));
  const std::uint32_t crc =
      patterns::crc32c(block + kBlockHeadBytes, payload_bytes, patterns::crc32c(block + 4, 8));
  head.u32le(crc);
  const std::size_t whole = (kBlockHeadBytes + payload_bytes + 7) & ~std::size_t{7};
  std::memset(block + kBlockHeadBytes + payload_bytes, 0, whole - kBlockHeadBytes - payload_bytes);
  segment.used().store(used + whole, std::memory_order_release);
}

void add_text_block(BlockType type, const char* text, std::size_t bytes) noexcept {
  BlockSegment* const segment = segment_with(kBlockHeadBytes + bytes + 8);
  if (segment == nullptr) return;
  std::memcpy(segment->memory + kSegmentHead + segment->used().load(std::memory_order_relaxed) +
                  kBlockHeadBytes,
              text, bytes);
  publish_block(*segment, type, bytes);
}

void calibrate() noexcept {
  const ClockReading now = read_clocks();
  g_buffer.rate = rate_between(g_buffer.first, now, g_buffer.rate);
  if (g_buffer.header == nullptr) return;
  g_buffer.header->last_ticks = now.ticks;
  g_buffer.header->last_realtime_ns =
      g_buffer.first.realtime_ns + (now.monotonic_ns - g_buffer.first.monotonic_ns);
}

// A rate good to some parts in a thousand at once, for a process that is killed early.
void first_calibration() noexcept {
  if (g_buffer.first.ticks == 0) g_buffer.first = read_clocks();
  while (clock_ns(CLOCK_MONOTONIC) - g_buffer.first.monotonic_ns < 20'000) {
  }
  calibrate();
}

bool encode_ring_locked(Ring& ring) noexcept {
  const std::uint64_t word = ring.word->load(std::memory_order_relaxed);
  const auto used = static_cast<std::uint32_t>(word);
  const auto epoch = static_cast<std::uint32_t>(word >> 32);
  bool stored = used == 0;
  std::size_t calls = 0;
  if (used > 0) {
    calibrate();
    const std::span<const std::byte> records(ring.records, used);
    calls = count_records(records);
    const std::size_t scratch = scratch_bytes_needed(ring.capacity_bytes);
    if (g_buffer.scratch_bytes < scratch) {
      if (g_buffer.scratch != nullptr) unmap(g_buffer.scratch, g_buffer.scratch_bytes);
      g_buffer.scratch = private_memory(scratch);
      g_buffer.scratch_bytes = g_buffer.scratch == nullptr ? 0 : scratch;
    }
    EventsRequest request;
    request.records = records;
    request.first_ticks = g_buffer.first.ticks;
    request.rate_mult = g_buffer.rate.mult;
    request.rate_shift = TickRate::kShift;
    request.thread = ring.thread;
    request.epoch = epoch;
    request.every_time_exact = configuration().time_every_call;
    request.exact_budget = &g_buffer.exact_budget;
    request.scratch = {static_cast<std::byte*>(g_buffer.scratch), g_buffer.scratch_bytes};
    // A small block first: most batches cost a few hundred bytes. Then room for the worst case.
    const std::size_t worst = events_bytes_at_most(used);
    for (const std::size_t room : {std::size_t{4096}, worst}) {
      BlockSegment* const segment =
          g_buffer.scratch == nullptr ? nullptr : segment_with(kBlockHeadBytes + room + 8);
      if (segment == nullptr) break;
      const std::uint64_t at = kSegmentHead + segment->used().load(std::memory_order_relaxed);
      // All that is free, less the padding.
      patterns::ByteWriter payload(
          {segment->memory + at + kBlockHeadBytes, segment->bytes - at - kBlockHeadBytes - 8});
      if (encode_events(request, payload)) {
        publish_block(*segment, BlockType::kEvents, payload.bytes_used());
        stored = true;
        break;
      }
    }
    if (stored) {
      g_buffer.calls += calls;
    } else {
      g_buffer.header->dropped += calls;
    }
  }
  if (used > 0) {
    ring.word->store(static_cast<std::uint64_t>(epoch + 1) << 32, std::memory_order_release);
  }
  return stored;
}

Ring* make_ring() noexcept {
  // The ring's description lives in front of the early ring's memory.
  auto* const memory = static_cast<std::byte*>(private_memory(kEarlyRingBytes + 4096));
  if (memory == nullptr || g_buffer.ring_count == kMaxBufferSegments) return nullptr;
  auto* const ring = reinterpret_cast<Ring*>(memory);
  ring->word = reinterpret_cast<std::atomic<std::uint64_t>*>(memory + 512);
  ring->records = memory + 4096;
  ring->capacity_bytes = kEarlyRingBytes;
  ring->thread = g_buffer.threads++;
  ring->in_file = false;
  g_buffer.rings[g_buffer.ring_count++] = ring;
  t_thread.index = ring->thread;
  return ring;
}

void move_into_file(Ring& ring) noexcept {
  std::byte* const memory = add_segment(SegmentKind::kRing, ring.thread, kRingBytes);
  if (memory == nullptr) return;
  const std::uint64_t used = ring.word->load(std::memory_order_relaxed);
  std::memcpy(memory + kSegmentHead, ring.records, used);
  ring.word = reinterpret_cast<std::atomic<std::uint64_t>*>(memory);
  ring.records = memory + kSegmentHead;
  ring.capacity_bytes = kRingBytes - kSegmentHead;
  ring.word->store(used, std::memory_order_release);
  ring.in_file = true;
}

}  // namespace

const ClockReading& first_reading() noexcept {
  if (g_buffer.first.ticks == 0) g_buffer.first = read_clocks();
  return g_buffer.first;
}

bool start_buffer() noexcept {
  if (g_buffer.header != nullptr) return true;
  if (g_buffer.failed) return false;
  const OwnCode own;
  const BufferLock lock;
  if (g_buffer.header != nullptr) return true;
  const char* const directory = run_directory();
  if (directory == nullptr) {
    g_buffer.failed = true;
    return false;
  }
  first_calibration();
  ShortText<24> random;
  std::uint64_t bits = 0;
  raw::call(SYS_getrandom, raw::word(&bits), sizeof bits, 0);
  random.add_hex(bits ^ g_buffer.first.ticks);
  g_buffer.path.clear();
  g_buffer.path << directory << '/' << host_name() << '.' << raw::getpid() << '.'
                << process_start_time(raw::getpid()) << '.' << random.c_str() << ".iobuf";
  MapFailure failure{};
  void* const memory = create_mapped(g_buffer.path.c_str(), kBufferHeadBytes, failure);
  if (memory == nullptr) {
    give_up(failure);
    return false;
  }
  auto* const header = static_cast<BufferHeader*>(memory);
  std::memcpy(header->magic, "IOTBUF", 6);
  header->version = kFormatVersion;
  header->header_bytes = kBufferHeadBytes;
  header->pid = static_cast<std::uint32_t>(raw::getpid());
  header->first_ticks = g_buffer.first.ticks;
  header->first_realtime_ns = g_buffer.first.realtime_ns;
  header->dropped = g_buffer.early_dropped;
  g_buffer.file_bytes = kBufferHeadBytes;
  g_buffer.header = header;
  calibrate();
  ProcessText text;
  describe_process(text, g_buffer.first, g_buffer.rate);
  add_text_block(BlockType::kProcess, text.c_str(), text.size());
  return !g_buffer.failed;
}

Ring* ring_of_this_thread() noexcept {
  if (t_thread.ring != nullptr && (t_thread.ring->in_file || g_buffer.header == nullptr)) {
    return t_thread.ring;
  }
  if (g_buffer.inherited) {
    // A child that goes on with its parent's descriptors opens nothing by itself.
    g_buffer.inherited = false;
    if (start_buffer()) {
      const OwnCode own;
      announce_descriptors();
    }
  }
  const BufferLock lock;
  if (g_buffer.first.ticks == 0) g_buffer.first = read_clocks();
  if (t_thread.ring == nullptr) t_thread.ring = make_ring();
  if (t_thread.ring != nullptr && g_buffer.header != nullptr && !t_thread.ring->in_file) {
    move_into_file(*t_thread.ring);
  }
  return t_thread.ring;
}

bool encode_ring(Ring& ring) noexcept {
  const BufferLock lock;
  return ring.in_file && encode_ring_locked(ring);
}

void count_dropped(std::uint64_t calls) noexcept {
  if (g_buffer.header != nullptr) {
    __atomic_fetch_add(&g_buffer.header->dropped, calls, __ATOMIC_RELAXED);
  } else {
    __atomic_fetch_add(&g_buffer.early_dropped, calls, __ATOMIC_RELAXED);
  }
}

void add_process_text(const char* text, std::size_t bytes) noexcept {
  if (g_buffer.header == nullptr) return;
  const OwnCode own;
  const BufferLock lock;
  add_text_block(BlockType::kProcess, text, bytes);
}

void end_buffer(const char* how) noexcept {
  if (g_buffer.header == nullptr) return;
  const OwnCode own;
  const BufferLock lock;
  for (std::uint32_t i = 0; i < g_buffer.ring_count; ++i) {
    if (g_buffer.rings[i]->in_file) encode_ring_locked(*g_buffer.rings[i]);
  }
  calibrate();
  const bool nothing_new = g_buffer.joined_at != 0 && g_buffer.joined_at == block_bytes();
  if (nothing_new) return;
  ProcessText text;
  text << "end=" << how << "\ncalls=" << g_buffer.calls << "\ndropped=" << g_buffer.header->dropped
       << '\n';
  add_text_block(BlockType::kEnd, text.c_str(), text.size());
  g_buffer.header->state = static_cast<std::uint32_t>(BufferState::kEnded);
}

bool buffer_exists() noexcept { return g_buffer.header != nullptr; }
const char* buffer_path() noexcept { return g_buffer.path.c_str(); }

void visit_blocks(void (*visit)(const std::byte* blocks, std::size_t bytes, void* context),
                  void* context) noexcept {
  const BufferLock lock;
  for (std::uint32_t i = 0; i < g_buffer.block_segments; ++i) {
    const BlockSegment& segment = g_buffer.blocks[i];
    visit(segment.memory + kSegmentHead, segment.used().load(std::memory_order_acquire), context);
  }
}

void mark_joined() noexcept {
  if (g_buffer.header == nullptr) return;
  g_buffer.joined_at = block_bytes();
  g_buffer.header->state = static_cast<std::uint32_t>(BufferState::kJoined);
}

void remove_if_joined() noexcept {
  if (g_buffer.header == nullptr || g_buffer.joined_at == 0) return;
  bool pending = g_buffer.joined_at != block_bytes();
  for (std::uint32_t i = 0; i < g_buffer.ring_count; ++i) {
    const std::uint64_t word = g_buffer.rings[i]->word->load(std::memory_order_relaxed);
    pending = pending || static_cast<std::uint32_t>(word) != 0;
  }
  if (pending) return;
  raw::unlink(g_buffer.path.c_str());
  // Other processes of the run may still have theirs there; the last one removes it.
  const char* const directory = run_directory();
  if (directory != nullptr) raw::call(SYS_unlinkat, raw::kAtFdcwd, raw::word(directory), 0x200);
}

void forget_buffer_after_fork() noexcept {
  // The mappings are the parent's file: give them back without a store.
  if (g_buffer.header != nullptr) {
    for (std::uint32_t i = 0; i < g_buffer.block_segments; ++i) {
      unmap(g_buffer.blocks[i].memory, g_buffer.blocks[i].bytes);
    }
    unmap(g_buffer.header, kBufferHeadBytes);
  }
  for (std::uint32_t i = 0; i < g_buffer.ring_count; ++i) {
    const Ring& ring = *g_buffer.rings[i];
    if (ring.in_file) unmap(ring.records - kSegmentHead, kRingBytes);
  }
  const ClockReading first = read_clocks();
  g_buffer.inherited = g_buffer.inherited || g_buffer.header != nullptr;
  g_buffer.header = nullptr;
  g_buffer.block_segments = g_buffer.ring_count = 0;
  g_buffer.threads = 0;
  g_buffer.file_bytes = 0;
  g_buffer.exact_budget = kExactTransfers;
  g_buffer.calls = g_buffer.early_dropped = g_buffer.joined_at = 0;
  g_buffer.failed = false;
  g_buffer.first = first;
  BufferLock::s_locked = false;
  t_thread.ring = nullptr;
  t_thread.index = 0;
}

}  // namespace iotune::recorder
