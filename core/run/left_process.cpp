#include "core/run/left_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include <cerrno>

#include "core/files/descriptor.h"
#include "core/os/raw_syscall.h"
#include "core/os/ticks.h"
#include "core/process/privilege_drop.h"
#include "core/process/thread_state.h"

namespace iotune {
namespace {

constexpr long kReadyBytes = 1;

// Of this library's data; one zeroed, one not.
constinit volatile char g_zeroed = 0;
constinit volatile char g_data = 1;

// Takes lines of /proc/self/maps ("FROM-TO rwxp …") a character at a time: as libc's data goes,
// none of its functions can be called, and what comes in pieces is not put together.
class MapsLine {
 public:
  // True at the line's end, where the mapping may be written.
  bool take(char character) noexcept {
    if (character == '\n') {
      const bool whole = writable_;
      field_ = kFrom;
      ended_ = true;
      return whole;
    }
    if (ended_) {
      from_ = to_ = 0;
      writable_ = ended_ = false;
    }
    switch (field_) {
      case kFrom:
        take_digit(from_, character, '-', kTo);
        break;
      case kTo:
        take_digit(to_, character, ' ', kAccess);
        break;
      case kAccess:
        writable_ = writable_ || character == 'w';
        if (character == ' ') field_ = kRest;
        break;
      case kRest:
        break;
    }
    return false;
  }
  std::uint64_t from() const noexcept { return from_; }
  std::uint64_t to() const noexcept { return to_; }

 private:
  enum Field : std::uint8_t { kFrom, kTo, kAccess, kRest };

  void take_digit(std::uint64_t& value, char character, char last, Field after) noexcept {
    if (character == last) {
      field_ = after;
      return;
    }
    const int digit = character <= '9' ? character - '0' : character - 'a' + 10;
    value = value << 4 | static_cast<std::uint64_t>(digit);
  }

  std::uint64_t from_ = 0, to_ = 0;
  Field field_ = kFrom;
  bool writable_ = false, ended_ = false;
};

// Gives up all memory that may be written but for the stack, the thread's own (where the kernel
// writes on its way: rseq) and this library's data. What the program had is its own again, and ends
// with it.
void drop_memory(const volatile void* stack, const volatile void* argument) noexcept {
  const volatile void* const kept[] = {stack, argument, &t_thread, &g_zeroed, &g_data};
  const int fd = raw::open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return;
  MapsLine line;
  char text[1024];
  for (long bytes; (bytes = raw::read(fd, text, sizeof text)) > 0;) {
    for (long i = 0; i < bytes; ++i) {
      if (!line.take(text[i])) continue;
      bool own = false;
      for (const volatile void* const each : kept) {
        const auto address = reinterpret_cast<std::uint64_t>(each);
        own = own || (address >= line.from() && address < line.to());
      }
      if (own) continue;
      raw::call(SYS_munmap, static_cast<long>(line.from()),
                static_cast<long>(line.to() - line.from()));
    }
  }
  raw::close(fd);
}

void close_all_but(int pipe, int kept) noexcept {
  constexpr long kCloseRange = 436, kLast = 0xffffffff;
  const int low = kept >= 0 && kept < pipe ? kept : pipe, high = kept > pipe ? kept : pipe;
  const auto close_range = [](long from, long to) {
    return from > to || raw::call(kCloseRange, from, to, 0) == 0;
  };
  if (close_range(0, low - 1) && close_range(low + 1, high - 1) && close_range(high + 1, kLast)) {
    return;
  }
  constexpr std::uint64_t kMost = 65536;
  struct rlimit limit {};
  raw::call(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, raw::word(&limit));
  const int most = static_cast<int>(limit.rlim_cur < kMost ? limit.rlim_cur : kMost);
  for (int fd = 0; fd < most; ++fd) {
    if (fd != pipe && fd != kept) raw::close(fd);
  }
}

[[noreturn]] void run(LeftProcess::Work work, const void* argument, int pipe, int kept) noexcept {
  const char ready[kReadyBytes] = {};
  raw::call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  raw::call(SYS_setsid);
  raw::call(SYS_chdir, raw::word("/"));
  close_all_but(pipe, kept);
  drop_memory(&ready, argument);
  raw::write(pipe, ready, sizeof ready);
  work(pipe, argument);
  for (;;) raw::call(SYS_exit_group, 0);
}

}  // namespace

LeftProcess::LeftProcess(Work work, const void* argument, int kept) noexcept {
  if (work == nullptr || has_dropped_privileges()) return;
  int ends[2] = {-1, -1};
  if (raw::call(SYS_pipe2, raw::word(ends), O_CLOEXEC) != 0) return;
  pipe_ = moved_high(ends[0]);
  const int written = moved_high(ends[1]);
  // The program's handlers are not for it.
  std::uint64_t all = ~std::uint64_t{0}, before = 0;
  raw::call(SYS_rt_sigprocmask, SIG_SETMASK, raw::word(&all), raw::word(&before), 8);
  pid_ = raw::call(SYS_clone, CLONE_UNTRACED);  // no exit signal, memory of its own
  if (pid_ == 0) run(work, argument, written, kept);
  raw::call(SYS_rt_sigprocmask, SIG_SETMASK, raw::word(&before), 0, 8);
  raw::close(written);
  // Until it has given up the program's pages, the program writes into copies of them; a network
  // adapter that was handed the pages would not see that.
  constexpr std::uint64_t kSecondNs = 1'000'000'000;
  char ready[kReadyBytes];
  if (pid_ > 0 && read(ready, sizeof ready, clock_ns(CLOCK_MONOTONIC) + kSecondNs) <= 0)
    end(WNOHANG);
}

void LeftProcess::end(long how) noexcept {
  if (pid_ > 0) {
    raw::call(SYS_kill, pid_, SIGKILL);
    while (raw::call(SYS_wait4, pid_, 0, how | __WCLONE, 0) == -EINTR) {
    }
  }
  if (pipe_ >= 0) raw::close(pipe_);
  pid_ = pipe_ = -1;
}

void LeftProcess::wait_for_end() noexcept {
  end(0);
}

LeftProcess::~LeftProcess() {
  end(WNOHANG);  // at once, or never: nobody waits for one that cannot end
}

long LeftProcess::read(void* to, std::size_t bytes, std::uint64_t until_ns) noexcept {
  for (;;) {
    const std::uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    if (now_ns >= until_ns) return -ETIMEDOUT;
    constexpr std::uint64_t kSecondNs = 1'000'000'000;
    struct timespec left {
      static_cast<time_t>((until_ns - now_ns) / kSecondNs),
          static_cast<long>((until_ns - now_ns) % kSecondNs)
    };
    struct pollfd ready {
      pipe_, POLLIN, 0
    };
    const long polled = raw::call(SYS_ppoll, raw::word(&ready), 1, raw::word(&left), 0, 8);
    if (polled == -EINTR || polled == 0) continue;
    if (polled < 0) return polled;
    const long got = raw::read(pipe_, to, bytes);
    if (got != -EINTR) return got;
  }
}

}  // namespace iotune
