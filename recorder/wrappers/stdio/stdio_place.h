// Where a stream's bytes go. What a stream keeps for later, one that appends puts at the end that
// the file has then: a place that nobody knows before.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "recorder/wrappers/stdio/stdio_gaps.h"
#include "recorder/wrappers/stdio/stdio_stream.h"

namespace iotune::recorder {

// Around a call that writes to a stream.
class StreamWatch {
 public:
  StreamWatch(_IO_FILE* stream, int fd) noexcept;
  // Where its `bytes` went, or will go: -1 where that cannot be known. `gap` is the call's. Keeps
  // errno.
  std::int64_t place(const StreamGap& gap, std::int64_t bytes) const noexcept;
  // Tells `gap` of the call, which wrote `bytes` at `place`.
  void end_gap(const StreamGap& gap, const CallScope& scope, std::int64_t place,
               std::int64_t bytes) const noexcept;

 private:
  _IO_FILE* stream_;
  int fd_;
  bool appends_;
  std::int64_t size_before_;
};

}  // namespace iotune::recorder
