#include "recorder/preload/buffer_file.h"

#include <cstring>

#include "patterns/bytes.h"
#include "patterns/crc32c.h"
#include "recorder/preload/configuration.h"
#include "recorder/preload/mapped_file.h"
#include "recorder/preload/process_text.h"
#include "recorder/preload/raw_syscall.h"
#include "recorder/preload/run_identity.h"

namespace iotune::recorder {
namespace {

constexpr std::size_t kFirstBlockSegmentBytes = 64u << 10;
constexpr std::size_t kLargestBlockSegmentBytes = 4u << 20;

std::size_t padded(std::size_t bytes) noexcept {
  return (bytes + kBlockAlignment - 1) & ~(kBlockAlignment - 1);
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
  void* const memory = create_mapped(path_.c_str(), kBufferHeadBytes, failure);
  if (memory == nullptr) {
    say_not_recorded(path_.c_str(), failure);
    return false;
  }
  auto* const header = static_cast<BufferHeader*>(memory);
  std::memcpy(header->magic, "IOTBUF", 6);
  header->version = kFormatVersion;
  header->header_bytes = kBufferHeadBytes;
  header->pid = static_cast<std::uint32_t>(raw::getpid());
  header->first_ticks = first.ticks;
  header->first_realtime_ns = first.realtime_ns;
  file_bytes_ = kBufferHeadBytes;
  header_ = header;
  return true;
}

std::byte* BufferFile::add_segment(SegmentKind kind, std::uint32_t thread,
                                   std::size_t bytes) noexcept {
  bool& full = full_[static_cast<int>(kind)];
  if (full) return nullptr;
  const std::uint32_t count = header_->segments.load(std::memory_order_relaxed);
  MapFailure failure = MapFailure::kLimit;
  void* memory = nullptr;
  if (count < kMaxBufferSegments && file_bytes_ + bytes <= configuration().buffer_limit_bytes) {
    memory = extend_mapped(path_.c_str(), file_bytes_, bytes, failure);
  }
  if (memory == nullptr) {
    say_not_recorded(path_.c_str(), failure);
    full = true;
    return nullptr;
  }
  header_->segment[count] = {static_cast<std::uint32_t>(kind), thread, file_bytes_, bytes};
  header_->segments.store(count + 1, std::memory_order_release);
  file_bytes_ += bytes;
  return static_cast<std::byte*>(memory);
}

std::byte* BufferFile::add_ring(std::uint32_t thread, std::size_t bytes,
                                std::uint32_t& segment) noexcept {
  std::byte* const memory = add_segment(SegmentKind::kRing, thread, bytes);
  if (memory != nullptr) segment = header_->segments.load(std::memory_order_relaxed) - 1;
  return memory;
}

void BufferFile::give_ring(std::uint32_t segment, std::uint32_t thread) noexcept {
  __atomic_store_n(&header_->segment[segment].thread, thread, __ATOMIC_RELEASE);
}

bool BufferFile::last_has_room(std::size_t bytes) const noexcept {
  if (count_ == 0) return false;
  const BlockSegment& last = blocks_[count_ - 1];
  return kRingHeadBytes + last.used().load(std::memory_order_relaxed) + bytes <= last.bytes;
}

std::byte* BufferFile::room_for(std::size_t bytes, std::size_t& capacity) noexcept {
  const std::size_t whole = kBlockHeadBytes + padded(bytes);
  if (!last_has_room(whole)) {
    // 64 KiB, 256 KiB, 1 MiB, then 4 MiB each.
    std::size_t size = kFirstBlockSegmentBytes << (count_ < 3 ? 2 * count_ : 6);
    if (size > kLargestBlockSegmentBytes) size = kLargestBlockSegmentBytes;
    while (size < kRingHeadBytes + whole) size *= 2;
    std::byte* const memory = add_segment(SegmentKind::kBlocks, 0, size);
    if (memory == nullptr) return nullptr;
    blocks_[count_++] = {memory, size};
  }
  const BlockSegment& last = blocks_[count_ - 1];
  const std::size_t at = kRingHeadBytes + last.used().load(std::memory_order_relaxed);
  capacity = last.bytes - at - kBlockHeadBytes - kBlockAlignment;
  return last.memory + at + kBlockHeadBytes;
}

void BufferFile::publish(BlockType type, std::size_t payload_bytes) noexcept {
  const BlockSegment& segment = blocks_[count_ - 1];
  const std::uint64_t used = segment.used().load(std::memory_order_relaxed);
  std::byte* const block = segment.memory + kRingHeadBytes + used;
  std::byte* const payload = block + kBlockHeadBytes;
  patterns::ByteWriter head({block, kBlockHeadBytes});
  head.u32le(kBlockMagic);
  head.u32le(static_cast<std::uint32_t>(type));
  head.u32le(static_cast<std::uint32_t>(payload_bytes));
  head.u32le(patterns::crc32c(payload, payload_bytes, patterns::crc32c(block + 4, 8)));
  std::memset(payload + payload_bytes, 0, padded(payload_bytes) - payload_bytes);
  segment.used().store(used + kBlockHeadBytes + padded(payload_bytes), std::memory_order_release);
}

void BufferFile::add_text(BlockType type, const char* text, std::size_t bytes) noexcept {
  std::size_t capacity = 0;
  std::byte* const room = room_for(bytes, capacity);
  if (room == nullptr) return;
  std::memcpy(room, text, bytes);
  publish(type, bytes);
}

std::uint64_t BufferFile::block_bytes() const noexcept {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < count_; ++i) {
    sum += blocks_[i].used().load(std::memory_order_relaxed);
  }
  return sum;
}

void BufferFile::visit(void (*visitor)(const std::byte*, std::size_t, void*),
                       void* context) const noexcept {
  for (std::uint32_t i = 0; i < count_; ++i) {
    visitor(blocks_[i].memory + kRingHeadBytes, blocks_[i].used().load(std::memory_order_acquire),
            context);
  }
}

void BufferFile::forget() noexcept {
  for (std::uint32_t i = 0; i < count_; ++i) unmap(blocks_[i].memory, blocks_[i].bytes);
  if (header_ != nullptr) unmap(header_, kBufferHeadBytes);
  header_ = nullptr;
  count_ = 0;
  file_bytes_ = 0;
  for (bool& full : full_) full = false;
}

}  // namespace iotune::recorder
