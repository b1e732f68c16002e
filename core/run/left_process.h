// A process of ours that makes calls which may never return, and is left behind then. Neither the
// program's wait, its SIGCHLD nor its fork handlers meet it; it holds no descriptor, no memory and
// no process group of the program's. (A thread could not be left behind: one in a call that does
// not return keeps the finished process.)
#pragma once

#include <cstddef>
#include <cstdint>

namespace iotune {

class LeftProcess {
 public:
  // Runs in the process, with the pipe to write into: system calls alone, as of libc not even
  // memcpy() works, whose data are gone. `argument` is its copy.
  using Work = void (*)(int pipe, const void* argument);

  // `work`: nullptr for no process. `argument` lies on the stack of the caller. `kept`: a
  // descriptor that the process keeps open.
  LeftProcess(Work work, const void* argument, int kept = -1) noexcept;
  // Ends the process, if a signal can.
  ~LeftProcess();
  LeftProcess(const LeftProcess&) = delete;
  LeftProcess& operator=(const LeftProcess&) = delete;

  // False where none could be made.
  bool started() const noexcept { return pid_ > 0; }
  // What it has written, as read(2); -ETIMEDOUT where nothing comes until then (CLOCK_MONOTONIC).
  long read(void* to, std::size_t bytes, std::uint64_t until_ns) noexcept;
  // Ends it, and waits for that: of one that makes no call by now that a signal cannot end.
  void wait_for_end() noexcept;

 private:
  void end(long how) noexcept;

  long pid_ = -1;
  int pipe_ = -1;
};

}  // namespace iotune
