// The streams of this process: which descriptor has which, and the memory that they lie in. So many
// are watched at a time; a descriptor more than that is read without prefetching.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>

#include "core/os/sleep_lock.h"
#include "prefetch/preload/options.h"
#include "prefetch/preload/saved_predictors.h"
#include "prefetch/preload/uses_under_way.h"
#include "prefetch/streams/stream.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"

namespace iotune::prefetch {

inline constexpr unsigned kMostStreams = 256;  // a StreamSlot's number has 8 bits

// What a stream keeps over runs, where its predictor does: behind the predictor's memory.
struct SavedState {
  static constexpr std::size_t kFirst = 32;

  SavedKey key;
  std::span<const std::byte>
      saved;                   // by an earlier run or another process, or the stream's own past
  std::uint32_t saved_number;  // of the file that `saved` is of
  PlanRecorder* plan;          // nullptr: none is recorded
  bool is_written;             // `key` is the number of this stream's own file
  // Of "recorded", see plan_choice.h.
  bool is_own_past;
  std::uint8_t firsts, tries;
  std::uint8_t resumed;  // behind the one of the first reads that came again; 0: none did
  std::uint32_t reads, planned;
  // Of the file as one among others of its directory (files/watched_files.h).
  bool ahead;  // it was read ahead
  std::uint32_t ahead_bytes;
  std::uint64_t bytes_read;
  patterns::Extent first[kFirst];  // that the stream has read
};

// The predictor's memory lies behind it: all of a stream in 1,024 bytes, where nothing is kept.
struct StreamSlot {
  SleepLock lock;  // of all that is plain below
  // Helper's calls on the descriptor: who closes it waits until there are none.
  UsesUnderWay in_flight;
  bool live : 1;   // of a descriptor that is open, as far as is known
  bool known : 1;  // file_bytes is
  bool unfit : 1;  // no file that hints are for, or half changed
  // For who does not lock. idle: a read that did not wait goes past the lock, because nothing would
  // follow from it. is_ahead: the stream's.
  std::atomic<bool> idle;
  std::atomic<bool> is_ahead;
  std::atomic<bool> closing;  // somebody waits for the helper to be done
  std::uint8_t plans;
  std::uint8_t number;
  // Pages that stdio has in its buffer, from first_page on: fewer than it may be, never more.
  std::uint16_t buffered_pages;
  int fd;
  std::uint32_t file;
  std::int64_t first_page;
  std::uint64_t file_bytes;
  alignas(prefetch::Stream) std::byte stream_memory[sizeof(prefetch::Stream)];

  prefetch::Stream& stream() noexcept {
    return *std::launder(reinterpret_cast<prefetch::Stream*>(stream_memory));
  }
  std::byte* predictor() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};

// Once, before any other function: how slots are made.
void set_up_slots(const PrefetchOptions& options, const prefetch::Limits& limits) noexcept;

// A slot of the descriptor's own. nullptr where there is no room.
StreamSlot* make_slot(int fd, std::uint32_t file) noexcept;
StreamSlot* slot_number(unsigned number) noexcept;  // below slots_made()

// nullptr where there is none. Who locks it asks then whether it is still live and the file's.
extern std::atomic<StreamSlot*> g_slot_of_descriptor[recorder::kMaxDescriptors];
inline StreamSlot* slot_of(int fd) noexcept {
  return static_cast<unsigned>(fd) < static_cast<unsigned>(recorder::kMaxDescriptors)
             ? g_slot_of_descriptor[fd].load(std::memory_order_acquire)
             : nullptr;
}
unsigned slots_made() noexcept;

// nullptr where the predictor keeps nothing.
SavedState* saved_state(StreamSlot& slot) noexcept;
// A read that took less found its data in memory. In ticks, 0 before set_up_slots.
std::uint64_t quick_ticks() noexcept;

// Gives the stream memory for what loops do not explain, 64 KiB, while the process has no more than
// 4 MiB of these. The slot is locked.
void give_best(StreamSlot& slot) noexcept;

// Keeps for later runs what the predictor has learned. The slot is locked, or nobody's any more.
void keep_model(StreamSlot& slot) noexcept;

// Gives the slot to the next caller. It is not live, and has nothing in flight.
void free_slot(StreamSlot& slot) noexcept;

// A signal handler jumps out of what this thread is in the midst of. A stream that is half changed
// is not used any more.
void leave_slots_by_jump() noexcept;

// In the child of a fork: the parent's streams are not its own.
void forget_slots_after_fork() noexcept;

}  // namespace iotune::prefetch
