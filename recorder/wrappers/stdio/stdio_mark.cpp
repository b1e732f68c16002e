#include "recorder/wrappers/stdio/stdio_mark.h"

#include <stdio.h>

#include <cstring>

#include "core/process/one_thread.h"
#include "recorder/wrappers/descriptors/descriptor_place.h"

namespace iotune::recorder {
namespace {

// glibc's flags of a stream, which libio.h no longer tells: the program's buffer, none, a buffer by
// lines, and that the stream is written to.
constexpr int kUserBuffer = 0x1, kUnbuffered = 0x2, kByLines = 0x200, kPutting = 0x800;

// No two marks are alike, so that none is found where an earlier one was.
constinit std::uint64_t g_marks = 0;

}  // namespace

std::int64_t position_by_mark(const StreamMark& mark, const _IO_FILE& stream, int fd,
                              std::uint32_t file) noexcept {
  if (mark.at == nullptr || stream._IO_write_ptr != mark.at || stream._IO_write_base != mark.base ||
      stream._IO_buf_end - mark.at < static_cast<std::ptrdiff_t>(sizeof mark.word)) {
    return -1;
  }
  std::uint64_t word;
  std::memcpy(&word, mark.at, sizeof word);
  if (word != mark.word || mark.moves != moves_of_position(file) ||
      may_be_shared(traits_of_descriptor(fd))) {
    return -1;
  }
  return mark.offset + (mark.at - mark.base);
}

std::int64_t position_behind_mark(const StreamMark& mark, const _IO_FILE& stream,
                                  std::int64_t bytes) noexcept {
  if (stream._IO_write_base != mark.base || stream._IO_write_ptr - mark.at != bytes) return -1;
  return mark.offset + (stream._IO_write_ptr - mark.base);
}

void leave_mark(StreamMark& mark, _IO_FILE& stream, std::uint32_t file,
                std::int64_t position) noexcept {
  mark.at = nullptr;
  char* const at = stream._IO_write_ptr;
  const int flags = stream._flags & (kUserBuffer | kUnbuffered | kByLines | kPutting);
  // A stream of wide characters has another buffer; what was read ahead would move the position.
  if (position < 0 || flags != kPutting || stream._mode > 0 ||
      stream._IO_read_ptr != stream._IO_read_end || stream._IO_write_end != stream._IO_buf_end ||
      stream._IO_buf_end - at < static_cast<std::ptrdiff_t>(sizeof mark.word) ||
      !has_one_thread()) {
    return;
  }
  mark.base = stream._IO_write_base;
  mark.at = at;
  mark.word = ++g_marks * 0x9e3779b97f4a7c15u;
  mark.offset = position - (at - mark.base);
  mark.moves = moves_of_position(file);
  std::memcpy(at, &mark.word, sizeof mark.word);
}

}  // namespace iotune::recorder
