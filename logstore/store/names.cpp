// Containers as names in a directory: recognised, made, removed, renamed.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>

#include "logstore/format.h"
#include "logstore/read/container_files.h"
#include "logstore/read/make_container.h"
#include "logstore/store/logged_file.h"
#include "logstore/store/open_files.h"

namespace iotune::logstore {
namespace {

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

Description new_description() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return {random_id(), std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec};
}

// Removes whatever is at `path` now: a container, or something else that unlink(2) removes.
int remove_whatever(const std::string& path) {
  if (is_container(AT_FDCWD, path.c_str(), false)) return remove_container(path);
  return unlink(path.c_str()) == 0 ? 0 : -errno;
}

}  // namespace

bool is_container(int at, const char* path, bool follows) noexcept {
  const int number = errno;
  const Descriptor directory(
      openat(at, path, O_PATH | O_DIRECTORY | O_CLOEXEC | (follows ? 0 : O_NOFOLLOW)));
  bool found = false;
  if (directory) {
    const Descriptor file(
        openat(directory.get(), kDescriptionName, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    std::array<std::byte, kHeadBytes> head{};
    Description description{};
    std::uint32_t version = 0;
    found = file && read_at(file.get(), head, 0) == kHeadBytes &&
            read_description(head, description, version) != HeadProblem::kNotOurs;
  }
  errno = number;
  return found;
}

int LoggedFile::make(const std::string& path, mode_t mode) noexcept {
  return make_container(path, new_description(), mode, false);
}

int LoggedFile::make(const std::string& path, mode_t mode, const StoreOptions& options,
                     int handle_flags, Descriptor& handle,
                     std::shared_ptr<LoggedFile>& file) noexcept {
  FoundContainer made;
  const int wrong = make_container(path, new_description(), mode, handle_flags, made, handle);
  return wrong != 0 ? wrong : open(path, std::move(made), options, file);
}

int remove_container(const std::string& path) noexcept {
  return guarded([&]() -> int {
    if (!is_container(AT_FDCWD, path.c_str(), false)) {
      struct stat there {};
      return lstat(path.c_str(), &there) != 0 ? -errno : -ENOTDIR;
    }
    if (faccessat(AT_FDCWD, path.c_str(), W_OK | X_OK, AT_EACCESS) != 0) return -errno;
    OpenFiles::all().before_removal(path);
    const std::string aside = name_aside(path, "gone");
    if (rename(path.c_str(), aside.c_str()) != 0) return -errno;
    remove_what_was(aside);
    return 0;
  });
}

int rename_container(const std::string& from, const std::string& to, unsigned flags) noexcept {
  return guarded([&]() -> int {
    if ((flags & RENAME_EXCHANGE) != 0) {
      return renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) == 0 ? 0 : -errno;
    }
    if ((flags & ~unsigned{RENAME_NOREPLACE}) != 0) return -EINVAL;
    const int free = rename_to_free_name(from, to);
    if (free != -EEXIST || flags != 0) return free;
    struct stat source {};
    struct stat target {};
    if (lstat(from.c_str(), &source) != 0 || lstat(to.c_str(), &target) != 0) return -errno;
    if (same_file(source, target)) return 0;
    if (S_ISDIR(target.st_mode) && !is_container(AT_FDCWD, to.c_str(), false)) return -EISDIR;
    std::string old;
    const int wrong = take_name_of(from, to, "old", old);
    return wrong == 0 ? remove_whatever(old) : wrong;
  });
}

}  // namespace iotune::logstore
