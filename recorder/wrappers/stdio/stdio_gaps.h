// What stdio moves by calls that have no wrapper: single characters, wide ones, printf and puts on
// a stdout that is a file. A wrapper would cost more than such a call, and some are macros. So
// where a recorded call on a stream begins behind the place where the one before ended, the bytes
// in between are recorded in front of it, as one fgetc or fputc.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/ring/record_writer.h"
#include "recorder/wrappers/stdio/stdio_stream.h"

namespace iotune::recorder {

struct StreamEnd;

// Around a recorded call on a traced stream.
class StreamGap {
 public:
  StreamGap(_IO_FILE* stream, int fd, std::uint32_t file) noexcept;
  ~StreamGap();
  StreamGap(const StreamGap&) = delete;
  StreamGap& operator=(const StreamGap&) = delete;

  // The stream's position now; of one that appends, and does not read, how far the file will reach
  // if nobody else writes to it. -1: unknown. Keeps errno.
  std::int64_t position() const noexcept;
  // Where the call's `bytes` were written, where that is known without asking; else -1.
  std::int64_t place_written(std::int64_t bytes) const noexcept;
  // How many bytes lie between the last recorded call and `begin`.
  std::int64_t bytes_before(std::int64_t begin) const noexcept;
  // The call's own bytes began at `begin`, and the stream is at `end` now. -1: unknown.
  void ended(const CallScope& scope, std::int64_t begin, std::int64_t end) const noexcept;
  // The call has written so many bytes.
  void wrote(std::int64_t bytes) const noexcept;
  // The stream is about to be closed.
  void closing() const noexcept;

 private:
  _IO_FILE* stream_;
  int fd_;
  std::uint32_t file_;
  StreamEnd* entry_;  // nullptr: too many streams
  std::uint32_t turn_ = 0;
  std::int64_t begun_ = -1;  // the position before the call, where the stream's mark tells it
  // Before the call: a stream that appends and reads moves two places, and only one at a time.
  bool writing_ = false, at_end_ = false;
  bool appends_ = false, sole_ = false;
};

// Where the stream stands, as it says itself; -1: unknown. Keeps errno.
std::int64_t position_of(_IO_FILE* stream) noexcept;

// A stream was made of a traced descriptor, which is at `position`; -1: unknown.
void note_stream(_IO_FILE* stream, int fd, std::int64_t position) noexcept;

// The descriptor was led to another file, by dup2 or by an open after a close. A standard stream
// that stands on it begins anew there; other streams do so when they are used.
void note_standard_stream(int fd) noexcept;

// Notes stdin and stdout where they are traced files from the start.
void note_streams_at_start() noexcept;

// At the exit: what was moved since the last recorded call on each open stream.
void record_last_gaps() noexcept;

}  // namespace iotune::recorder
