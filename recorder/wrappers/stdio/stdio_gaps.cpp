#include "recorder/wrappers/stdio/stdio_gaps.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdio_ext.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "core/link/at_start.h"
#include "core/os/raw_syscall.h"
#include "core/os/ticks.h"
#include "core/process/jump_safe_guard.h"
#include "core/process/one_thread.h"
#include "core/process/privilege_drop.h"
#include "core/process/process_events.h"
#include "core/process/thread_state.h"
#include "recorder/ring/process_buffer.h"
#include "recorder/wrappers/descriptors/descriptor_place.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"
#include "recorder/wrappers/stdio/stdio_mark.h"

namespace iotune::recorder {

struct StreamEnd {
  std::atomic<_IO_FILE*> stream;      // nullptr: free
  std::atomic<std::uint32_t> file;    // whose places these are; 0: nobody's, and they begin anew
  std::atomic<std::int64_t> end;      // of the last recorded call
  std::atomic<std::int64_t> reach;    // of one that appends: the file's end by then
  std::atomic<std::int64_t> written;  // by recorded calls
  std::atomic<std::uint64_t> since;   // ticks by then
  std::atomic<std::uint32_t> turns, inside;
  std::atomic<std::uint64_t> moves;  // of the descriptor's position by then, past the stream
  StreamMark mark;

  // Before another stream may win it. A thread that is inside still leaves.
  void free() noexcept {
    file.store(0, std::memory_order_relaxed);
    mark.at = nullptr;
    stream.store(nullptr, std::memory_order_release);
  }
};

namespace {

constexpr std::size_t kStreams = 256, kProbes = 8;
constinit StreamEnd g_streams[kStreams] = {};

// Bytes read and written that stand in the trace: those of all gaps so far, and what recorded calls
// wrote to streams that left the table.
constinit std::atomic<std::int64_t> g_recorded[2] = {};

// What the parent's streams wrote before the fork is not the child's.
constinit AfterFork g_after_fork([]() noexcept {
  for (std::atomic<std::int64_t>& bytes : g_recorded) bytes.store(0, std::memory_order_relaxed);
  for (StreamEnd& entry : g_streams) {
    entry.inside.store(0, std::memory_order_relaxed);
    entry.written.store(0, std::memory_order_relaxed);
    entry.free();
  }
});

StreamEnd* find(_IO_FILE* stream, bool makes) noexcept {
  const std::size_t first = reinterpret_cast<std::uintptr_t>(stream) / 32 % kStreams;
  for (int pass = 0; pass < (makes ? 2 : 1); ++pass) {
    for (std::size_t i = 0; i < kProbes; ++i) {
      StreamEnd& entry = g_streams[(first + i) % kStreams];
      _IO_FILE* holder = entry.stream.load(std::memory_order_acquire);
      if (holder == stream) return &entry;
      if (pass == 0 || holder != nullptr) continue;
      g_after_fork.enlist();
      if (entry.stream.compare_exchange_strong(holder, stream, std::memory_order_acq_rel)) {
        return &entry;
      }
    }
  }
  return nullptr;
}

// How far the file will reach once the stream has written what it keeps.
std::int64_t reach_of(_IO_FILE* stream, int fd) noexcept {
  const std::int64_t size = known_size(fd);
  return size < 0 ? -1 : size + static_cast<std::int64_t>(__fpending(stream));
}

// The next write goes to the file's end: the stream appends and was not read from last.
bool stands_at_end(_IO_FILE* stream, bool appends) noexcept {
  return appends && __freading(stream) == 0;
}

void retire(StreamEnd& entry) noexcept {
  g_recorded[true].fetch_add(entry.written.exchange(0, std::memory_order_relaxed),
                             std::memory_order_relaxed);
}

void begin_anew(StreamEnd& entry, std::uint32_t file, std::int64_t end,
                std::int64_t reach) noexcept {
  entry.mark.at = nullptr;
  entry.moves.store(moves_of_position(file), std::memory_order_relaxed);
  entry.end.store(end, std::memory_order_relaxed);
  entry.reach.store(reach, std::memory_order_relaxed);
  retire(entry);
  entry.since.store(ticks_now(), std::memory_order_relaxed);
  entry.file.store(file, std::memory_order_relaxed);
}

// What this process has read or written by any call; -1: the kernel does not count it. What a
// process's own file counts holds children that ended, too; a thread's does not.
[[gnu::cold]] std::int64_t moved_by_process(bool written) noexcept {
  char text[256];
  const char* const counts = has_one_thread() ? "/proc/thread-self/io" : "/proc/self/io";
  const int fd = raw::open(counts, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return -1;
  const long length = raw::read(fd, text, sizeof text - 1);
  raw::close(fd);
  text[length > 0 ? length : 0] = '\0';
  const char* digit = std::strstr(text, written ? "wchar: " : "rchar: ");
  if (digit == nullptr) return -1;
  std::int64_t bytes = 0;
  for (digit += 7; *digit >= '0' && *digit <= '9'; ++digit) bytes = bytes * 10 + (*digit - '0');
  return bytes;
}

// Of a file that other processes write to as well, or of a position that they move as well, a gap
// is theirs, too: it is cut to what this process can have moved by calls that are not recorded.
[[gnu::cold]] std::int64_t own_part(_IO_FILE* stream, std::int64_t gap, bool writing) noexcept {
  const auto kept = static_cast<std::int64_t>(writing ? __fpending(stream) : 0);
  if (gap <= kept) return gap;
  const std::int64_t moved = moved_by_process(writing);
  if (moved < 0) return gap;
  std::int64_t known = g_recorded[writing].load(std::memory_order_relaxed);
  for (const StreamEnd& entry : g_streams) {
    if (writing) known += entry.written.load(std::memory_order_relaxed);
  }
  return std::clamp(moved + kept - known, std::int64_t{0}, gap);
}

// `since`: when the gap began. How long its calls took nobody knows.
void record_gap(const CallScope& scope, int fd, std::uint32_t file, bool writing,
                std::int64_t place, std::int64_t bytes, std::uint64_t since) noexcept {
  const OwnCode own;
  start_buffer_if_worth(bytes);
  const CallNumber number = writing ? CallNumber::kfputc : CallNumber::kfgetc;
  record_transfer({stream_word(number, scope.outer_layers(), fd, file), {bytes, place, bytes}},
                  since, 0);
}

// Of a frame that is gone.
void leave(std::uintptr_t entry) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): kept as a word (jump_safe_guard.h)
  add_to(reinterpret_cast<StreamEnd*>(entry)->inside, ~0u);
}

}  // namespace

std::int64_t position_of(_IO_FILE* stream) noexcept {
  if (has_dropped_privileges()) return -1;
  const OwnCode own;
  const int kept = errno;
  const std::int64_t position = ftello(stream);
  errno = kept;
  return position;
}

StreamGap::StreamGap(_IO_FILE* stream, int fd, std::uint32_t file) noexcept
    : stream_(stream), fd_(fd), file_(file), entry_(find(stream, true)) {
  if (entry_ == nullptr) return;
  // The descriptor is another file's now.
  if (entry_->file.load(std::memory_order_relaxed) != file) begin_anew(*entry_, file, -1, -1);
  appends_ = (traits_of_descriptor(fd) & kAppends) != 0;
  writing_ = __fwriting(stream) != 0;
  at_end_ = stands_at_end(stream, appends_);
  sole_ = add_to(entry_->inside, 1) == 0;
  hold_over_call(this, leave, reinterpret_cast<std::uintptr_t>(entry_));
  turn_ = add_to(entry_->turns, 1) + 1;
  if (sole_ && !appends_) begun_ = position_by_mark(entry_->mark, *stream, fd, file);
}

StreamGap::~StreamGap() {
  if (entry_ != nullptr && take_back(this)) add_to(entry_->inside, ~0u);
}

std::int64_t StreamGap::position() const noexcept {
  return stands_at_end(stream_, appends_) ? reach_of(stream_, fd_) : position_of(stream_);
}

std::int64_t StreamGap::place_written(std::int64_t bytes) const noexcept {
  if (begun_ < 0) return -1;
  const std::int64_t after = position_behind_mark(entry_->mark, *stream_, bytes);
  return after < 0 ? -1 : after - bytes;
}

std::int64_t StreamGap::bytes_before(std::int64_t begin) const noexcept {
  if (entry_ == nullptr || begin < 0) return 0;
  // Calls on the descriptor itself stand in the trace: what they moved is none of the stream's.
  // What both moved nobody can tell apart.
  if (entry_->moves.load(std::memory_order_relaxed) != moves_of_position(file_)) return 0;
  const std::int64_t last = (at_end_ ? entry_->reach : entry_->end).load(std::memory_order_relaxed);
  return last < 0 || begin < last ? 0 : begin - last;
}

// Where threads call at once the places of their calls tell nothing of what lies between them.
void StreamGap::ended(const CallScope& scope, std::int64_t begin, std::int64_t end) const noexcept {
  if (entry_ == nullptr) return;
  if (!sole_ || entry_->turns.load(std::memory_order_acquire) != turn_) {
    entry_->end.store(-1, std::memory_order_relaxed);
    entry_->reach.store(-1, std::memory_order_relaxed);
    entry_->mark.at = nullptr;
    return;
  }
  if (!appends_) leave_mark(entry_->mark, *stream_, file_, end);
  const std::int64_t gap = bytes_before(begin);
  const bool others_too = appends_ || may_be_shared(traits_of_descriptor(fd_));
  const std::int64_t bytes = gap > 0 && others_too ? own_part(stream_, gap, writing_) : gap;
  const std::uint64_t since = entry_->since.load(std::memory_order_relaxed);
  entry_->since.store(scope.start_ticks() + scope.duration_ticks(), std::memory_order_relaxed);
  entry_->moves.store(moves_of_position(file_), std::memory_order_relaxed);
  const bool is_placed = !at_end_ && bytes == gap;
  const std::int64_t place =
      is_placed ? entry_->end.load(std::memory_order_relaxed) : kUnknownPlace;
  const bool to_end = stands_at_end(stream_, appends_);
  // What it keeps for the file's end leaves its other position unknown.
  entry_->end.store(to_end ? -1 : end, std::memory_order_relaxed);
  if (appends_) {
    entry_->reach.store(to_end ? end : reach_of(stream_, fd_), std::memory_order_relaxed);
  }
  if (bytes <= 0 || !scope.recorded()) return;
  g_recorded[writing_].fetch_add(bytes, std::memory_order_relaxed);
  record_gap(scope, fd_, file_, writing_, place, bytes, since);
}

void StreamGap::wrote(std::int64_t bytes) const noexcept {
  if (entry_ == nullptr) return;
  add_to(entry_->written, bytes);
  if (!appends_ || entry_->reach.load(std::memory_order_relaxed) < 0) return;
  entry_->reach.fetch_add(bytes, std::memory_order_relaxed);
}

void StreamGap::closing() const noexcept {
  if (entry_ == nullptr) return;
  retire(*entry_);
  entry_->free();
}

void note_stream(_IO_FILE* stream, int fd, std::int64_t position) noexcept {
  const std::uint32_t file = file_of_descriptor(fd);
  if (stream == nullptr || file == 0) return;
  StreamEnd* const entry = find(stream, true);
  if (entry == nullptr) return;
  const bool appends = (traits_of_descriptor(fd) & kAppends) != 0;
  begin_anew(*entry, file, position, appends ? known_size(fd) : -1);
}

void note_standard_stream(int fd) noexcept {
  if (fd < 0 || fd > 2 || file_of_descriptor(fd) == 0 || has_dropped_privileges() ||
      in_vfork_child())
    return;
  _IO_FILE* const streams[] = {stdin, stdout, stderr};
  if (descriptor_of(streams[fd]) == fd) note_stream(streams[fd], fd, raw::lseek(fd, 0, SEEK_CUR));
}

IOTUNE_START_CODE void note_streams_at_start() noexcept {
  for (int fd = 0; fd < 2; ++fd) note_standard_stream(fd);
}

void record_last_gaps() noexcept {
  if (has_dropped_privileges()) return;
  CallScope scope(Layer::kStdio);
  if (!scope.active()) return;
  scope.start();
  scope.stop();
  for (StreamEnd& entry : g_streams) {
    _IO_FILE* const stream = entry.stream.load(std::memory_order_acquire);
    // One that was closed where no wrapper saw it is no stream any more.
    constexpr int kMagic = static_cast<int>(0xfbad0000), kMagicMask = static_cast<int>(0xffff0000);
    if (stream == nullptr || (stream->_flags & kMagicMask) != kMagic) continue;
    const int fd = descriptor_of(stream);
    const std::uint32_t file = file_of_descriptor(fd);
    if (file == 0 || ftrylockfile(stream) != 0) continue;
    {
      const StreamGap gap(stream, fd, file);
      const std::int64_t at = gap.position();
      // As of all calls on files from the start: a few bytes alone leave no trace behind.
      constexpr std::int64_t kFew = 4096;
      if (buffer_exists() || gap.bytes_before(at) >= kFew) gap.ended(scope, at, at);
    }
    funlockfile(stream);
  }
}

}  // namespace iotune::recorder
