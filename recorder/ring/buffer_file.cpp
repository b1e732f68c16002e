#include "recorder/ring/buffer_file.h"

#include <sys/stat.h>

#include <cstring>
#include <span>

#include "core/os/mapped_file.h"
#include "core/os/raw_syscall.h"
#include "core/process/configuration.h"
#include "core/process/privilege_drop.h"
#include "core/process/process_facts.h"
#include "core/process/process_namespace.h"
#include "core/run/run_identity.h"
#include "patterns/bytes.h"
#include "patterns/crc32c.h"
#include "recorder/gather/byte_buffer.h"
#include "recorder/gather/trace_block_walk.h"

namespace iotune::recorder {
namespace {

constexpr std::size_t kFirstBlockSegmentBytes = 64u << 10;
constexpr std::size_t kLargestBlockSegmentBytes = 4u << 20;
// The first segment is never spilled: with a second one there is something that can be.
constexpr std::uint64_t kLeastMemoryBytes = 5 * kFirstBlockSegmentBytes;
constexpr std::size_t kPageBytes = 4096;
// What was spilled is read back in pieces of so many bytes.
constexpr std::size_t kWindowBytes = 256u << 10;

std::size_t padded(std::size_t bytes) noexcept {
  return (bytes + kBlockAlignment - 1) & ~(kBlockAlignment - 1);
}

bool status_of(const char* path, struct stat& status) noexcept {
  return raw::call(SYS_newfstatat, raw::kAtFdcwd, raw::word(path), raw::word(&status), 0) == 0;
}

void say_not_recorded(const char* path, MapFailure failure) noexcept {
  static constinit bool said = false;
  ShortText<800> text;
  text << path << ": " << describe(failure) << ": calls from here on are counted, not recorded";
  say_once(said, text.c_str());
}

}  // namespace

bool BufferFile::create(const char* directory, const ClockReading& first) noexcept {
  std::uint64_t random = 0;
  raw::call(SYS_getrandom, raw::word(&random), sizeof random, 0);
  path_.clear();
  path_ << directory << '/' << host_name() << '.' << raw::getpid() << '.'
        << process_start_time(raw::getpid()) << '.';
  path_.add_hex(random ^ first.ticks) << ".iobuf";
  MapFailure failure{};
  void* memory = create_mapped(path_.c_str(), kBufferHeadBytes, failure);
  // The last other process of the run may have removed the folder meanwhile.
  if (memory == nullptr && failure == MapFailure::kOpen && raw::mkdir(directory, 0700) == 0) {
    memory = create_mapped(path_.c_str(), kBufferHeadBytes, failure);
  }
  if (memory == nullptr) {
    say_not_recorded(path_.c_str(), failure);
    return false;
  }
  auto* const header = static_cast<BufferHeader*>(memory);
  std::memcpy(header->magic, "IOTBUF", 6);
  header->version = kFormatVersion;
  header->header_bytes = kBufferHeadBytes;
  header->pid = static_cast<std::uint32_t>(raw::getpid());
  header->process_namespace = process_namespace();
  header->first_ticks = first.ticks;
  header->first_realtime_ns = first.realtime_ns;
  file_bytes_ = kBufferHeadBytes;
  header_ = header;
  return true;
}

std::byte* BufferFile::add_segment(SegmentKind kind, std::uint32_t thread,
                                   std::size_t bytes) noexcept {
  MapFailure& full = full_[static_cast<int>(kind)];
  if (full != MapFailure::kNone || has_dropped_privileges()) return nullptr;
  const std::uint32_t count = header_->segments.load(std::memory_order_relaxed);
  full = MapFailure::kLimit;
  if (count == kMaxBufferSegments || file_bytes_ + bytes > configuration().buffer_limit_bytes) {
    return nullptr;
  }
  void* const memory =
      in_memory_ ? private_memory(bytes) : extend_mapped(path_.c_str(), file_bytes_, bytes, full);
  if (memory == nullptr) return nullptr;
  full = MapFailure::kNone;
  header_->segment[count] = {static_cast<std::uint32_t>(kind), thread, file_bytes_, bytes};
  header_->segments.store(count + 1, std::memory_order_release);
  file_bytes_ += bytes;
  return static_cast<std::byte*>(memory);
}

std::byte* BufferFile::add_ring(std::uint32_t thread, std::size_t bytes,
                                std::uint32_t& segment) noexcept {
  std::byte* const memory = add_segment(SegmentKind::kRing, thread, bytes);
  if (memory == nullptr) {
    say_not_recorded(path_.c_str(), full_[static_cast<int>(SegmentKind::kRing)]);
    return nullptr;
  }
  segment = header_->segments.load(std::memory_order_relaxed) - 1;
  return memory;
}

void BufferFile::give_ring(std::uint32_t segment, std::uint32_t thread) noexcept {
  __atomic_store_n(&header_->segment[segment].thread, thread, __ATOMIC_RELEASE);
}

bool BufferFile::find_room(std::size_t whole) noexcept {
  for (std::uint32_t i = current_; i < count_; ++i) {
    const std::uint64_t used = blocks_[i].used().load(std::memory_order_relaxed);
    if (kRingHeadBytes + used + whole > blocks_[i].bytes) continue;
    current_ = i;
    return true;
  }
  return false;
}

// 64 KiB, 256 KiB, 1 MiB, then 4 MiB each; less where all of them would be more than `most_bytes`.
bool BufferFile::add_block_segment(std::size_t whole, std::uint64_t most_bytes) noexcept {
  std::size_t size = kFirstBlockSegmentBytes << (count_ < 3 ? 2 * count_ : 6);
  if (size > kLargestBlockSegmentBytes) size = kLargestBlockSegmentBytes;
  const std::uint64_t left = most_bytes > block_room_ ? most_bytes - block_room_ : 0;
  if (size > left) size = static_cast<std::size_t>(left) / kPageBytes * kPageBytes;
  const std::size_t needed = kRingHeadBytes + whole;
  if (size < needed) size = (needed + kPageBytes - 1) / kPageBytes * kPageBytes;
  if (size > left) return false;
  std::byte* const memory = add_segment(SegmentKind::kBlocks, 0, size);
  if (memory == nullptr) return false;
  blocks_[count_++] = {memory, size};
  block_room_ += size;
  return true;
}

// A block counts twice for a moment, in the file and in memory, and never not at all: a process
// that reads the buffer of a process that died in here drops one of them by its thread and epoch.
bool BufferFile::spill() noexcept {
  if (has_dropped_privileges() || holds_ > 0 || count_ < 2 ||
      configuration().spill_limit_bytes == 0) {
    return false;
  }
  if (!spill_.exists()) {
    std::span<const std::byte> first(blocks_[0].memory + kRingHeadBytes,
                                     blocks_[0].used().load(std::memory_order_relaxed));
    TraceBlock block{};
    const bool process = next_trace_block(first, block) && block.type == BlockType::kProcess;
    if (!process || !spill_.create(path_.c_str(), block.whole)) return false;
  }
  if (!spill_.begin()) return false;
  for (std::uint32_t i = 1; i < count_; ++i) {
    const std::uint64_t used = blocks_[i].used().load(std::memory_order_relaxed);
    if (!spill_.append({blocks_[i].memory + kRingHeadBytes, used})) return false;
  }
  if (!spill_.commit()) return false;
  header_->spilled.store(spill_.bytes(), std::memory_order_release);
  for (std::uint32_t i = 1; i < count_; ++i) {
    blocks_[i].used().store(0, std::memory_order_release);
  }
  current_ = 1;
  return true;
}

std::byte* BufferFile::room_for(std::size_t bytes, std::size_t& capacity) noexcept {
  const std::size_t whole = kBlockHeadBytes + padded(bytes);
  const std::uint64_t memory_bytes = configuration().memory_bytes < kLeastMemoryBytes
                                         ? kLeastMemoryBytes
                                         : configuration().memory_bytes;
  const bool has_room =
      find_room(whole) || (add_block_segment(whole, memory_bytes) && find_room(whole)) ||
      (spill() && find_room(whole)) || (add_block_segment(whole, UINT64_MAX) && find_room(whole));
  if (!has_room) {
    say_not_recorded(path_.c_str(), full_[static_cast<int>(SegmentKind::kBlocks)]);
    return nullptr;
  }
  const BlockSegment& segment = blocks_[current_];
  const std::size_t at = kRingHeadBytes + segment.used().load(std::memory_order_relaxed);
  capacity = segment.bytes - at - kBlockHeadBytes - kBlockAlignment;
  return segment.memory + at + kBlockHeadBytes;
}

void BufferFile::publish(BlockType type, std::size_t payload_bytes) noexcept {
  const BlockSegment& segment = blocks_[current_];
  const std::uint64_t used = segment.used().load(std::memory_order_relaxed);
  std::byte* const block = segment.memory + kRingHeadBytes + used;
  std::byte* const payload = block + kBlockHeadBytes;
  patterns::ByteWriter head({block, kBlockHeadBytes});
  head.u32le(kBlockMagic);
  head.u32le(static_cast<std::uint32_t>(type));
  head.u32le(static_cast<std::uint32_t>(payload_bytes));
  head.u32le(patterns::crc32c(payload, payload_bytes, patterns::crc32c(block + 4, 8)));
  std::memset(payload + payload_bytes, 0, padded(payload_bytes) - payload_bytes);
  const std::size_t whole = kBlockHeadBytes + padded(payload_bytes);
  segment.used().store(used + whole, std::memory_order_release);
  published_bytes_ += whole;
  if (whole > largest_block_) largest_block_ = whole;
}

void BufferFile::add_text(BlockType type, const char* text, std::size_t bytes) noexcept {
  std::size_t capacity = 0;
  std::byte* const room = room_for(bytes, capacity);
  if (room == nullptr) return;
  std::memcpy(room, text, bytes);
  publish(type, bytes);
}

BufferFile::Held BufferFile::hold() noexcept {
  ++holds_;
  const std::uint64_t used =
      count_ == 0 ? 0 : blocks_[current_].used().load(std::memory_order_relaxed);
  return {spill_.bytes(), current_, used,
          largest_block_ > kWindowBytes ? largest_block_ : kWindowBytes, published_bytes_};
}

bool BufferFile::visit(const Held& held, void (*visitor)(const std::byte*, std::size_t, void*),
                       void* context) const noexcept {
  if (held.bytes == 0) return true;
  bool whole = true;
  for (std::uint32_t i = 0; i <= held.last; ++i) {
    if (i == 1 && held.spilled_end > 0) {
      ByteBuffer window(held.window_bytes);
      whole =
          window.capacity() > 0 && spill_.visit(held.spilled_end, window.room(), visitor, context);
    }
    const std::uint64_t used = blocks_[i].used().load(std::memory_order_acquire);
    visitor(blocks_[i].memory + kRingHeadBytes, i == held.last ? held.last_used : used, context);
  }
  return whole;
}

void BufferFile::remove() noexcept {
  // The buffer last: without it nobody would find the others.
  spill_.remove();
  raw::unlink(path_.c_str());
}

bool BufferFile::is_on_file_system_of(const char* path) const noexcept {
  struct stat own {
  }, asked{};
  return status_of(path_.c_str(), own) && status_of(path, asked) && own.st_dev == asked.st_dev;
}

void BufferFile::keep_in_memory() noexcept {
  if (in_memory_) return;
  for (std::uint32_t i = 0; i < count_; ++i) make_private(blocks_[i].memory, blocks_[i].bytes);
  make_private(header_, kBufferHeadBytes);
  raw::unlink(path_.c_str());
  in_memory_ = true;
}

void BufferFile::forget() noexcept {
  for (std::uint32_t i = 0; i < count_; ++i) unmap(blocks_[i].memory, blocks_[i].bytes);
  if (header_ != nullptr) unmap(header_, kBufferHeadBytes);
  header_ = nullptr;
  count_ = current_ = 0;
  file_bytes_ = block_room_ = published_bytes_ = 0;
  largest_block_ = 0;
  holds_ = 0;
  in_memory_ = false;
  spill_.forget();
  for (MapFailure& full : full_) full = MapFailure::kNone;
}

}  // namespace iotune::recorder
