#include "tuner/posix/made_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cstring>

#include "core/os/raw_syscall.h"

namespace iotune::tuner {
namespace {

__thread MadeFile* t_watched __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace

void watch(const char* path, MadeFile& file) noexcept {
  file.opening = file.made = false;
  file.path[0] = '\0';
  if (std::strlen(path) < sizeof file.path) std::strncpy(file.path, path, sizeof file.path);
  t_watched = &file;
}

void unwatch() noexcept {
  t_watched = nullptr;
}

void watch_before_create(const char* path, int flags) noexcept {
  constexpr int kMakes = O_CREAT | O_EXCL;
  MadeFile* const file = t_watched;
  if (file == nullptr) return;
  file->opening = (flags & kMakes) == kMakes && std::strcmp(path, file->path) == 0;
}

void watch_after_create(int fd) noexcept {
  MadeFile* const file = t_watched;
  if (file == nullptr || !file->opening) return;
  file->opening = false;
  struct stat status {};
  if (fd < 0 || raw::call(SYS_fstat, fd, raw::word(&status)) != 0) return;
  file->made = true;
  file->device = status.st_dev;
  file->number = status.st_ino;
}

bool remove_made(MadeFile& file) noexcept {
  constexpr long kNoFollow = 0x100;  // AT_SYMLINK_NOFOLLOW
  if (!file.made) return false;
  file.made = false;
  struct stat status {};
  const bool same = raw::call(SYS_newfstatat, raw::kAtFdcwd, raw::word(file.path),
                              raw::word(&status), kNoFollow) == 0 &&
                    status.st_dev == file.device && status.st_ino == file.number;
  if (same) raw::call(SYS_unlinkat, raw::kAtFdcwd, raw::word(file.path), 0);
  return true;
}

}  // namespace iotune::tuner
