// The file of a process buffer: its header, its segments, and the blocks in them (FORMAT.md).
// Not locked: process_buffer.cpp, the only user, holds the lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/os/mapped_file.h"
#include "core/os/short_text.h"
#include "core/os/ticks.h"
#include "recorder/format.h"
#include "recorder/ring/spill_file.h"

namespace iotune::recorder {

struct BufferHeader {
  struct Segment {
    std::uint32_t kind, thread;
    std::uint64_t offset, bytes;
  };
  char magic[8];
  std::uint32_t version, header_bytes, pid, state;
  std::uint64_t first_ticks, first_realtime_ns, last_ticks, last_realtime_ns;
  std::uint64_t dropped;
  std::atomic<std::uint32_t> segments;
  std::uint32_t zero;
  std::uint64_t joined_calls;
  std::atomic<std::uint64_t> spilled;
  std::uint64_t process_namespace;  // of `pid`; 0: not known
  std::uint8_t reserved[32];
  Segment segment[kMaxBufferSegments];
};
static_assert(offsetof(BufferHeader, segment) == kSegmentTableOffset &&
              sizeof(BufferHeader) <= kBufferHeadBytes);

enum class BufferState : std::uint32_t { kRunning = 0, kEnded = 1, kJoined = 2 };

class BufferFile {
 public:
  constexpr BufferFile() noexcept = default;

  // Makes the file in `directory`. False, after one line on stderr, where it cannot be had.
  bool create(const char* directory, const ClockReading& first) noexcept;
  bool exists() const noexcept { return header_ != nullptr && !left_; }
  BufferHeader& header() noexcept { return *header_; }

  // Memory of a new ring segment, the number of which it tells; its first kRingHeadBytes are the
  // ring's word.
  std::byte* add_ring(std::uint32_t thread, std::size_t bytes, std::uint32_t& segment) noexcept;
  // An empty ring goes on as another thread's.
  void give_ring(std::uint32_t segment, std::uint32_t thread) noexcept;

  // Room for a block's payload of at least `bytes`, behind the place of its head; nullptr where
  // there is none. `capacity` is all that is free there. Where the memory for blocks is used up,
  // they go into the spill file first; where that cannot be, the buffer grows.
  std::byte* room_for(std::size_t bytes, std::size_t& capacity) noexcept;
  // Completes the block whose payload now stands in that room, and publishes it.
  void publish(BlockType type, std::size_t payload_bytes) noexcept;
  void add_text(BlockType type, const char* text, std::size_t bytes) noexcept;

  // Bytes of all blocks that were ever published.
  std::uint64_t block_bytes() const noexcept { return published_bytes_; }

  // The blocks of one moment. From hold() to release() they stay where they are, and visit() needs
  // no lock: others may be added meanwhile.
  struct Held {
    std::uint64_t spilled_end;
    std::uint32_t last;       // block segment
    std::uint64_t last_used;  // of its bytes
    std::size_t window_bytes;
    std::uint64_t bytes;
  };
  Held hold() noexcept;
  void release() noexcept { --holds_; }
  // Calls `visitor` with whole blocks, in the order in which they were published. False where some
  // that were spilled cannot be read, or there is no memory to read them.
  bool visit(const Held& held, void (*visitor)(const std::byte*, std::size_t, void*),
             void* context) const noexcept;

  // Unlinks the file and what belongs to it.
  void remove() noexcept;
  // It stays for the process that joins it, as after a kill, and is no longer written to: a change
  // of it was cut short. Other threads may still read its memory.
  void leave() noexcept { left_ = true; }
  // Whether the file lies on the file system that `path` is on.
  bool is_on_file_system_of(const char* path) const noexcept;
  // The file is removed and its memory becomes this process's own, in place: its file system is
  // about to go, and would be busy. From then on only this process can write a trace of it.
  void keep_in_memory() noexcept;
  bool is_in_memory() const noexcept { return in_memory_; }
  // In a forked child: the mappings are the parent's file, they are given back without a store.
  void forget() noexcept;

 private:
  struct BlockSegment {
    std::byte* memory;  // its first kRingHeadBytes hold the bytes in use
    std::size_t bytes;
    std::atomic<std::uint64_t>& used() const noexcept {
      return *reinterpret_cast<std::atomic<std::uint64_t>*>(memory);
    }
  };
  std::byte* add_segment(SegmentKind kind, std::uint32_t thread, std::size_t bytes) noexcept;
  bool find_room(std::size_t whole) noexcept;
  bool add_block_segment(std::size_t whole, std::uint64_t most_bytes) noexcept;
  // All blocks but those of the first segment go into the spill file.
  bool spill() noexcept;

  BufferHeader* header_ = nullptr;
  bool left_ = false, in_memory_ = false;
  ShortText<640> path_;
  std::uint64_t file_bytes_ = 0;
  BlockSegment blocks_[kMaxBufferSegments] = {};
  std::uint32_t count_ = 0;
  std::uint32_t current_ = 0;     // block segment that is filled; those behind it are empty
  std::uint64_t block_room_ = 0;  // bytes of all block segments
  std::uint64_t published_bytes_ = 0;
  std::size_t largest_block_ = 0;  // with head and padding
  SpillFile spill_;
  int holds_ = 0;
  MapFailure full_[3] = {};  // by SegmentKind: why none can be added
};

}  // namespace iotune::recorder
