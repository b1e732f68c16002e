// The process buffer: a mapped file of this process's own (FORMAT.md, "Process buffer"), in
// which every committed call survives any death of the process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/os/ticks.h"
#include "core/process/thread_state.h"
#include "recorder/regions/ring_account.h"
#include "recorder/ring/buffer_file.h"
#include "recorder/ring/repeat_cursor.h"

namespace iotune::recorder {

// How the times of a call are kept: always its own, or its own for the first ones of a thread and
// of its stream behind them.
enum class Times : std::uint8_t { kControl, kHdf5, kMpiIo, kPosix, kOften, kOrder };
inline constexpr int kTimesKinds = 6;

struct RegionTable;  // recorder/regions/regions.h

// A thread's ring, in memory that a fork wipes: a child that does not know of its fork finds no
// ring. When its thread has ended another one gets it. `word` is epoch << 32 | bytes in use,
// published after each whole record.
struct alignas(64) Ring {
  std::atomic<std::uint64_t>* word;
  std::byte* records;
  RingMarks* marks;  // nullptr before it is in the file
  std::size_t capacity_bytes;
  RepeatCursor cursor;                      // begins with what the hot path uses
  std::uint32_t thread;                     // in order of first record, never reused
  bool in_file;                             // false: private memory, before the first traced access
  long owner;                               // its number in the kernel
  std::uint16_t exact_left[kTimesKinds];    // calls whose times are still kept one by one
  std::uint64_t stored_word, stored_calls;  // what end_buffer has stored of the present epoch
  RegionTable* regions;                     // nullptr: its thread has had none
  std::size_t mark_bytes;                   // of what lies in an early ring: regions' records
  RingAccount account;                      // of what store_and_empty and store_copy_of met
};

inline constexpr std::size_t kEarlyRingBytes = 48u << 10;
// Calls in an early ring that are reason enough for a trace.
inline constexpr std::size_t kManyEarlyBytes = 8u << 10;
inline constexpr std::size_t kRingBytes = 128u << 10;
// Of threads beyond the first ones at once; more than kMaxRings at once are counted only.
inline constexpr int kLargeRings = 32;
inline constexpr std::size_t kSmallRingBytes = 64u << 10;
inline constexpr std::uint32_t kMaxRings = 256;

// A file has been opened that is to be traced: from now on there is a buffer file (design.md:
// none before). Returns false, after one line on stderr, where none can be had.
bool start_buffer() noexcept;

// Before a call is recorded that is no reason for a trace of its own: one that moves few bytes, of
// a file that was open before the program began, or none. Starts the buffer all the same where it
// moves many, or kManyEarlyBytes of calls wait in memory. In our own code.
void start_buffer_if_worth(std::int64_t bytes) noexcept;

// Descriptors of before the program's begin are in the table: named where anything is recorded.
void expect_descriptors() noexcept;

// The ring of this thread, had at first use, moved into the file once there is one. nullptr
// where there is no memory, and in memory that is another process's.
Ring* ring_of_this_thread() noexcept;
// The same for marks of regions, which are no reason for a file in any process.
Ring* ring_for_marks() noexcept;

// Encodes the ring's records into an EVENTS block and empties it. False: no room, the ring is
// emptied all the same and its calls are counted as dropped.
bool encode_ring(Ring& ring) noexcept;

// A jump, an exception or the thread's end leaves what this thread was recording.
inline void leave_ring() noexcept {
  if (t_thread.ours != 0 && t_thread.ring != nullptr) t_thread.ring->cursor.left_by_jump();
}

// That have had a ring so far.
std::uint32_t recorded_threads() noexcept;

void count_dropped(std::uint64_t calls) noexcept;
std::uint64_t dropped_calls() noexcept;  // so far, in this process

// Adds a PROCESS block with what is known by now (rank, MPI …): key=value lines.
void add_process_text(const char* text, std::size_t bytes) noexcept;

// Encodes all rings, writes END with `how`, and marks the buffer ended.
void end_buffer(const char* how) noexcept;
// Leaves it to the process that joins the buffer where another thread holds it for 50 ms: it may
// hang in a file system, and this process is to end all the same. False: left so.
bool end_buffer_in_a_hurry(const char* how) noexcept;
// Removes the file with all calls in it, likewise.
void drop_buffer() noexcept;

// Stores what was recorded, because the program is about to give up rights (privilege_drop.h): what
// other threads still add to their rings fits there or is dropped.
void store_before_privilege_drop() noexcept;

// The file system that `path` is on is about to be unmounted: if the buffer lies there, it would be
// busy. The buffer stays in memory, and this process writes its trace at the exit.
void leave_file_system_of(const char* path) noexcept;
bool buffer_is_in_memory() noexcept;

// Returns once changes of the buffer that were under way have ended.
void wait_for_changes_of_buffer() noexcept;

// Of those that are stored already.
bool has_recorded_calls() noexcept;
const IoTotals& moved_by_stored_calls() noexcept;

bool buffer_exists() noexcept;

// Neither this process nor the one that forked it has recorded a call: to close a file that was
// open at the begin, as each program does with stdout at its end, is no reason for a ring.
bool nothing_recorded() noexcept;

// The blocks of one moment, the spilled ones too. They stay where they are as long as this lives,
// and other threads may add more: no lock is held while they are visited.
class HeldBlocks {
 public:
  HeldBlocks() noexcept;
  ~HeldBlocks();
  HeldBlocks(const HeldBlocks&) = delete;
  HeldBlocks& operator=(const HeldBlocks&) = delete;

  std::uint64_t bytes() const noexcept { return held_.bytes; }
  // Calls `visitor(blocks, bytes, context)` with whole blocks, in order, in bounded memory. False
  // where some that were spilled cannot be read, which is said.
  bool visit(void (*visitor)(const std::byte* blocks, std::size_t bytes, void* context),
             void* context) const noexcept;

 private:
  BufferFile::Held held_{};
};

// What was held last stands in a trace now.
void mark_joined() noexcept;
// Removes the file if nothing was added since.
void remove_if_joined() noexcept;

// Once, at the start of the process: a child of fork makes a buffer of its own.
void enlist_buffer() noexcept;

// Start of the process's time, for pseudo calls and headers.
const ClockReading& first_reading() noexcept;

}  // namespace iotune::recorder
