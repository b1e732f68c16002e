#include "logstore/store/flatten.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "logstore/compact/compaction.h"
#include "logstore/format.h"
#include "logstore/read/container.h"
#include "logstore/read/flat_copy.h"
#include "logstore/read/make_container.h"

namespace iotune::logstore {
namespace {

int wrong_or(int other) {
  return -(errno != 0 ? errno : other);
}

bool has_room(const Container& container) {
  struct statvfs room {};
  if (fstatvfs(container.directory(), &room) != 0) return true;
  const CompactionGain gain = compaction_gain(container);
  const auto free = static_cast<std::uint64_t>(room.f_bavail) * room.f_frsize;
  return static_cast<std::uint64_t>(gain.most_live_bytes) <= free;
}

// Before the file can be found by its name.
bool take_attributes(int directory, int file) {
  struct stat like {};
  if (fstatat(directory, kHandleName, &like, AT_SYMLINK_NOFOLLOW) != 0 &&
      fstatat(directory, kDescriptionName, &like, AT_SYMLINK_NOFOLLOW) != 0) {
    return false;
  }
  // Another owner is only root's to give.
  if (fchown(file, like.st_uid, like.st_gid) != 0) errno = 0;
  const timespec times[2] = {like.st_atim, like.st_mtim};
  return fchmod(file, like.st_mode & 07777) == 0 && futimens(file, times) == 0;
}

// Not remove_container(): the lock of what this process has open is held.
void remove(const std::string& container) {
  // First of all: others see by it that what is left is no longer the file.
  unlink((container + "/" + kDescriptionName).c_str());
  std::error_code wrong;
  std::filesystem::remove_all(container, wrong);
}

int take_place(const std::string& path, const std::string& made) {
  if (renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0) {
    remove(made);
    return 0;
  }
  if (errno != EINVAL && errno != ENOSYS) return -errno;
  const std::string aside = name_aside(path, "gone");
  if (rename(path.c_str(), aside.c_str()) != 0) return -errno;
  if (rename(made.c_str(), path.c_str()) != 0) {
    const int wrong = -errno;
    rename(aside.c_str(), path.c_str());
    return wrong;
  }
  remove(aside);
  return 0;
}

int flatten(const std::string& path) {
  errno = 0;
  const auto container = Container::open(path);
  if (!container) return wrong_or(EIO);
  // The next one who opens the file takes them in.
  if (container->handle_bytes() != 0) return -EBUSY;
  if (!has_room(*container)) return -ENOSPC;
  const std::string made = path + ".flattening";
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const Descriptor file(open(made.c_str(), kFlags, 0600));
  if (!file) return -errno;
  const std::int64_t size = container->map().size();
  errno = 0;
  const bool done = static_cast<bool>(copy_flat(*container, file.get(), 0, size)) &&
                    ftruncate(file.get(), size) == 0 &&
                    take_attributes(container->directory(), file.get()) && fsync(file.get()) == 0;
  const int wrong = done ? take_place(path, made) : wrong_or(EIO);
  if (wrong != 0) unlink(made.c_str());
  return wrong;
}

}  // namespace

int flatten_in_place(const std::string& path) noexcept {
  try {
    return flatten(path);
  } catch (...) {
    return -ENOMEM;
  }
}

}  // namespace iotune::logstore
