// What the program finds open when it begins: redirections of a shell, a parent's files.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "core/link/at_start.h"
#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"
#include "core/process/privilege_drop.h"
#include "recorder/ring/process_buffer.h"
#include "recorder/wrappers/descriptors/descriptor_place.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"
#include "recorder/wrappers/descriptors/path_filter.h"
#include "recorder/wrappers/object_table.h"

namespace iotune::recorder {
namespace {

// A system call each, some 0.15 µs, at every start of a program. What a shell names ends at 9, what
// bash chooses itself begins at 10.
constexpr int kLooked = 16;
constexpr int kStdout = 1, kStderr = 2;
IOTUNE_START_DATA constinit std::uint32_t g_file_of_stdout = 0;

IOTUNE_START_CODE bool status_of(int fd, struct stat& status) noexcept {
  constexpr long kEmptyPath = 0x1000;
  return raw::call(SYS_newfstatat, fd, raw::word(""), raw::word(&status), kEmptyPath) == 0;
}

// Without a name it can hardly be anybody's data: removed, or memory.
bool is_named_file(const struct stat& status) noexcept {
  return S_ISREG(status.st_mode) && status.st_nlink != 0;
}

}  // namespace

long path_of_descriptor(int fd, char* to, std::size_t bytes) noexcept {
  ShortText<64> link;
  link << "/proc/self/fd/" << fd;
  const long length = has_dropped_privileges() ? 0 : raw::readlink(link.c_str(), to, bytes - 1);
  to[length > 0 ? length : 0] = '\0';
  return length;
}

std::uint32_t file_of_stdout() noexcept {
  return g_file_of_stdout;
}

IOTUNE_START_CODE void trace_descriptors_at_start() noexcept {
  // A file that is written to by stderr, too, is a log of what programs say: a batch job's.
  struct stat log {};
  if (!status_of(kStderr, log)) log.st_ino = 0;
  bool any = false;
  for (int fd = 0; fd < kLooked; ++fd) {
    struct stat status {};
    if (!status_of(fd, status) || !is_named_file(status)) continue;
    if (status.st_ino == log.st_ino && status.st_dev == log.st_dev) continue;
    char path[4096];
    if (path_of_descriptor(fd, path, sizeof path) <= 0 || !path_is_traced(path)) continue;
    set_file_of_descriptor(fd, static_cast<std::uint32_t>(next_file_number()));
    if (fd == kStdout) g_file_of_stdout = file_of_descriptor(fd);
    const long flags = raw::call(SYS_fcntl, fd, F_GETFL);
    set_traits(fd, flags >= 0 && (flags & O_APPEND) != 0, true);
    any = true;
  }
  if (any) expect_descriptors();
}

}  // namespace iotune::recorder
