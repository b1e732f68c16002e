#include "recorder/wrappers/stdio/stdio_gaps.h"

#include <stdio.h>
#include <stdio_ext.h>

#include <cerrno>
#include <cstddef>

#include "core/link/at_start.h"
#include "core/os/raw_syscall.h"
#include "core/process/jump_safe_guard.h"
#include "core/process/narrowing.h"
#include "core/process/one_thread.h"
#include "core/process/process_events.h"
#include "core/process/thread_state.h"
#include "recorder/ring/process_buffer.h"
#include "recorder/wrappers/descriptors/descriptor_place.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"
#include "recorder/wrappers/stdio/stdio_mark.h"

namespace iotune::recorder {

struct StreamEnd {
  std::atomic<_IO_FILE*> stream;      // nullptr: free, and nothing below is any stream's
  std::atomic<std::int64_t> end{-1};  // of the last recorded call
  std::atomic<std::uint32_t> turns, inside;
  std::atomic<std::uint64_t> moves;  // of the descriptor's position by then, past the stream
  StreamMark mark;

  // Before another stream may win it. Whoever is inside still leaves.
  void free() noexcept {
    end.store(-1, std::memory_order_relaxed);
    mark.at = nullptr;
    stream.store(nullptr, std::memory_order_release);
  }
};

namespace {

constexpr std::size_t kStreams = 256, kProbes = 8;
constinit StreamEnd g_streams[kStreams] = {};

// What the parent's streams wrote before the fork is not the child's.
constinit AfterFork g_after_fork([]() noexcept {
  for (StreamEnd& entry : g_streams) {
    entry.inside.store(0, std::memory_order_relaxed);
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

std::int64_t position_of(_IO_FILE* stream, int fd, bool appends) noexcept {
  if (is_narrowed()) return -1;
  const OwnCode own;
  const int kept = errno;
  std::int64_t position = -1;
  if (!appends) {
    position = ftello(stream);
  } else if (const std::int64_t size = known_size(fd); size >= 0) {
    position = size + static_cast<std::int64_t>(__fpending(stream));
  }
  errno = kept;
  return position;
}

void record_gap(const CallScope& scope, int fd, std::uint32_t file, bool writing,
                std::int64_t place, std::int64_t bytes) noexcept {
  const OwnCode own;
  start_buffer_if_worth(bytes);
  const CallNumber number = writing ? CallNumber::kfputc : CallNumber::kfgetc;
  record_transfer({stream_word(number, scope.outer_layers(), fd, file), {bytes, place, bytes}},
                  scope.start_ticks(), 0);
}

// Of a frame that is gone.
void leave(std::uintptr_t entry) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): kept as a word (jump_safe_guard.h)
  add_to(reinterpret_cast<StreamEnd*>(entry)->inside, ~0u);
}

}  // namespace

StreamGap::StreamGap(_IO_FILE* stream, int fd, std::uint32_t file) noexcept
    : stream_(stream), fd_(fd), file_(file), entry_(find(stream, true)) {
  if (entry_ == nullptr) return;
  appends_ = (traits_of_descriptor(fd) & kAppends) != 0;
  writing_ = __fwriting(stream) != 0;
  sole_ = add_to(entry_->inside, 1) == 0;
  hold_over_call(this, leave, reinterpret_cast<std::uintptr_t>(entry_));
  turn_ = add_to(entry_->turns, 1) + 1;
  if (sole_ && !appends_) begun_ = position_by_mark(entry_->mark, *stream, fd, file);
}

StreamGap::~StreamGap() {
  if (entry_ != nullptr && take_back(this)) add_to(entry_->inside, ~0u);
}

std::int64_t StreamGap::position() const noexcept {
  return position_of(stream_, fd_, appends_);
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
  const std::int64_t last = entry_->end.load(std::memory_order_relaxed);
  return last < 0 || begin < last ? 0 : begin - last;
}

// Where threads call at once the places of their calls tell nothing of what lies between them.
void StreamGap::ended(const CallScope& scope, std::int64_t begin, std::int64_t end) const noexcept {
  if (entry_ == nullptr) return;
  if (!sole_ || entry_->turns.load(std::memory_order_acquire) != turn_) {
    entry_->end.store(-1, std::memory_order_relaxed);
    entry_->mark.at = nullptr;
    return;
  }
  if (!appends_) leave_mark(entry_->mark, *stream_, file_, end);
  const std::int64_t bytes = bytes_before(begin);
  entry_->moves.store(moves_of_position(file_), std::memory_order_relaxed);
  const std::int64_t place = appends_ ? kUnknownPlace : entry_->end.load(std::memory_order_relaxed);
  entry_->end.store(end, std::memory_order_relaxed);
  if (bytes > 0 && scope.recorded()) record_gap(scope, fd_, file_, writing_, place, bytes);
}

void StreamGap::appended(std::int64_t bytes) const noexcept {
  if (entry_ == nullptr || entry_->end.load(std::memory_order_relaxed) < 0) return;
  entry_->end.fetch_add(bytes, std::memory_order_relaxed);
}

void StreamGap::closing() const noexcept {
  if (entry_ != nullptr) entry_->free();
}

void note_stream(_IO_FILE* stream, int fd, std::int64_t position) noexcept {
  if (stream == nullptr || file_of_descriptor(fd) == 0) return;
  StreamEnd* const entry = find(stream, true);
  if (entry == nullptr) return;
  const bool appends = (traits_of_descriptor(fd) & kAppends) != 0;
  entry->mark.at = nullptr;
  entry->moves.store(moves_of_position(file_of_descriptor(fd)), std::memory_order_relaxed);
  entry->end.store(appends ? known_size(fd) : position, std::memory_order_relaxed);
}

IOTUNE_START_CODE void note_streams_at_start() noexcept {
  _IO_FILE* const streams[] = {stdin, stdout};
  for (int fd = 0; fd < 2; ++fd) {
    if (file_of_descriptor(fd) != 0) note_stream(streams[fd], fd, raw::lseek(fd, 0, SEEK_CUR));
  }
}

void record_last_gaps() noexcept {
  if (is_narrowed()) return;
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
