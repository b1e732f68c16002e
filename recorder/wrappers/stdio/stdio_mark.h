// Where a stream stands that is written to, without asking: ftell takes an lseek for each call on a
// stream that never seeked, which is longer than a short fwrite itself.
//
// While nothing is flushed a stream's position moves as its pointers do. Whether something was, by
// calls that no wrapper sees (putc, printf, fflush of all streams), shows at a mark: a word in the
// part of the buffer that nothing has been written to yet. A thread that writes to the stream
// writes over it. The mark is never part of the file. It is left only where the process has one
// thread and glibc allocated the buffer itself: an array of the program's stays as it is.
#pragma once

#include <cstdint>

#include "recorder/wrappers/stdio/stdio_stream.h"

namespace iotune::recorder {

struct StreamMark {
  char* base = nullptr;     // of the buffer's part that is written
  char* at = nullptr;       // where the mark is; nullptr: there is none
  std::uint64_t word = 0;   // the mark
  std::int64_t offset = 0;  // in the file, of `base`
  std::uint64_t moves = 0;  // calls that moved the descriptor's position by then
};

// The position of a stream that has not been used since the mark was left; else -1.
std::int64_t position_by_mark(const StreamMark& mark, const _IO_FILE& stream, int fd,
                              std::uint32_t file) noexcept;

// The position after a call that found the stream at `mark` and wrote `bytes`; -1 where they were
// flushed.
std::int64_t position_behind_mark(const StreamMark& mark, const _IO_FILE& stream,
                                  std::int64_t bytes) noexcept;

// The stream is at `position`: leaves a mark, or none where there can be none.
void leave_mark(StreamMark& mark, _IO_FILE& stream, std::uint32_t file,
                std::int64_t position) noexcept;

}  // namespace iotune::recorder
