#include "logstore/compact/changes.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "logstore/format.h"

namespace iotune::logstore {

bool Changes::may(const char* change) {
  const int wrong = before_ ? before_(change) : 0;
  if (wrong != 0) errno = wrong;
  return wrong == 0;
}

std::optional<Error> Changes::lock(const std::string& path) {
  // Over NFS an exclusive flock(2) needs a descriptor that may write.
  constexpr int kFlags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  lock_ = Descriptor(openat(directory_, kDescriptionName, O_RDWR | kFlags));
  if (lock_.get() < 0) {
    lock_ = Descriptor(openat(directory_, kDescriptionName, O_RDONLY | kFlags));
  }
  if (lock_.get() < 0) return file_error(path, "cannot be locked");
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) == 0) return std::nullopt;
  if (errno == EWOULDBLOCK) {
    return Error{path, "is in use: somebody has it open for writing"};
  }
  return file_error(path, "cannot be locked against writers");
}

Descriptor Changes::make(const std::string& name) {
  if (!may("make")) return Descriptor();
  struct stat like {};
  if (fstatat(directory_, kDescriptionName, &like, AT_SYMLINK_NOFOLLOW) != 0) return Descriptor();
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  Descriptor file(openat(directory_, name.c_str(), kFlags, like.st_mode & 0777));
  if (file.get() < 0) return file;
  // Who may read the file must be able to read this. Another owner is only root's to give.
  if (fchown(file.get(), like.st_uid, like.st_gid) != 0) errno = 0;
  if (fchmod(file.get(), like.st_mode & 0777) != 0) return Descriptor();
  return file;
}

bool Changes::write(const Descriptor& file, std::span<const std::byte> bytes, std::int64_t offset) {
  return may("write") && write_at(file.get(), bytes, offset);
}

bool Changes::sync(const Descriptor& file) {
  if (syncs_) return may("sync") && fsync(file.get()) == 0;
  // What it takes the place of goes next: some storages say only at a close that there is no room.
  const int wrong = pass_on(file.get());
  if (wrong != 0) errno = -wrong;
  return wrong == 0;
}

bool Changes::sync_file(const std::string& name) {
  if (!syncs_) return true;
  const auto file = open_regular(directory_, name);
  return file && sync(file->descriptor);
}

bool Changes::rename(const std::string& from, const std::string& to) {
  return may("rename") && renameat(directory_, from.c_str(), directory_, to.c_str()) == 0;
}

bool Changes::remove(const std::string& name) {
  return may("remove") && (unlinkat(directory_, name.c_str(), 0) == 0 || errno == ENOENT);
}

bool Changes::sync_directory() {
  return !syncs_ || (may("sync directory") && fsync(directory_) == 0);
}

}  // namespace iotune::logstore
