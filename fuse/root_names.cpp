#include "fuse/root_names.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace iotune::fuse {
namespace {

// The kernel hands over flags of its own, which openat2 takes for mistakes.
constexpr int kFlags = O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_NONBLOCK | O_DSYNC | O_SYNC |
                       O_DIRECT | O_LARGEFILE | O_NOATIME | O_DIRECTORY | O_PATH | O_NOFOLLOW;

std::string folder_of(const std::string& real) {
  const std::size_t slash = real.rfind('/');
  return slash == 0 ? "/" : real.substr(0, slash);
}

}  // namespace

int open_real(const std::string& real, int flags, mode_t mode) {
  open_how how{};
  how.flags = static_cast<unsigned>((flags & kFlags) | O_CLOEXEC);
  how.mode = (flags & O_CREAT) != 0 ? mode & 07777 : 0;  // without the type
  how.resolve = RESOLVE_NO_SYMLINKS;
  auto fd = static_cast<int>(syscall(SYS_openat2, AT_FDCWD, real.c_str(), &how, sizeof how));
  // Before Linux 5.6, or forbidden: the folders' links are followed.
  if (fd < 0 && (errno == ENOSYS || errno == EPERM)) {
    fd = ::open(real.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, mode);
  }
  if (fd < 0 && errno == ELOOP) errno = ESTALE;
  return fd;
}

HeldFile::HeldFile(const std::string& real) : fd_(open_real(real, O_PATH | O_NOFOLLOW)) {}

HeldFile::HeldFile(int folder, const char* name)
    : fd_(::openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC)) {}

NameInFolder::NameInFolder(const std::string& real)
    : folder_(folder_of(real)), name_(real.substr(real.rfind('/') + 1)) {}

}  // namespace iotune::fuse
