#include "logstore/read/make_container.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <span>

#include "logstore/read/container_files.h"

namespace iotune::logstore {
namespace {

constexpr mode_t kFileBits = 07777;

// False: errno says why.
bool write_whole(int directory, const char* name, std::span<const std::byte> bytes, mode_t mode,
                 bool durable) {
  const Descriptor file(
      openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return false;
  while (!bytes.empty()) {
    const ssize_t some = write(file.get(), bytes.data(), bytes.size());
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(some));
  }
  return fchmod(file.get(), mode) == 0 && (!durable || fsync(file.get()) == 0);
}

bool fill(const std::string& made, const Description& description, mode_t mode, bool durable) {
  std::array<std::byte, kHeadBytes> head{};
  write_description(description, head);
  const auto readme = std::as_bytes(std::span(kReadmeText, std::strlen(kReadmeText)));
  const mode_t ours = inner_file_mode(mode);
  const Descriptor directory(::open(made.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return directory && write_whole(directory.get(), kReadmeName, readme, ours, durable) &&
         write_whole(directory.get(), kDescriptionName, head, ours, durable) &&
         write_whole(directory.get(), kHandleName, {}, mode & kFileBits, durable) &&
         fchmod(directory.get(), directory_mode(mode)) == 0 &&
         (!durable || fsync(directory.get()) == 0);
}

}  // namespace

mode_t directory_mode(mode_t mode) noexcept {
  mode &= 0777;
  return mode | ((mode & 0444) >> 2U) | ((mode & 0222) >> 1U) | S_IRWXU;
}

mode_t inner_file_mode(mode_t mode) noexcept {
  return (mode & 0666) | S_IRUSR | S_IWUSR;
}

std::uint64_t random_id() noexcept {
  std::uint64_t id = 0;
  while (id == 0) {
    if (getrandom(&id, sizeof id, 0) != sizeof id) {
      timespec now{};
      clock_gettime(CLOCK_REALTIME, &now);
      id = static_cast<std::uint64_t>(now.tv_nsec) ^
           (static_cast<std::uint64_t>(now.tv_sec) << 30) ^
           (static_cast<std::uint64_t>(getpid()) << 48);
    }
  }
  return id;
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

std::string name_aside(const std::string& path, const char* ending) {
  char name[48];
  std::snprintf(name, sizeof name, ".iotune-%016llx.%s",
                static_cast<unsigned long long>(random_id()), ending);
  const std::string parent = parent_of(path);
  return parent == "." ? name : parent + name;
}

// rename(2) replaces an empty directory; not all file systems know how not to.
int rename_to_free_name(const std::string& from, const std::string& to) noexcept {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -errno;
  struct stat there {};
  if (lstat(to.c_str(), &there) == 0) return -EEXIST;
  return rename(from.c_str(), to.c_str()) == 0 ? 0 : -errno;
}

int make_container(const std::string& path, const Description& description, mode_t mode,
                   bool durable) noexcept {
  try {
    struct stat there {};
    if (lstat(path.c_str(), &there) == 0) return -EEXIST;
    const std::string made = name_aside(path, "new");
    if (mkdir(made.c_str(), 0700) != 0) return -errno;
    int wrong = fill(made, description, mode, durable) ? 0 : -errno;
    if (wrong == 0) wrong = rename_to_free_name(made, path);
    if (wrong != 0) {
      for (const char* name : {kReadmeName, kDescriptionName, kHandleName}) {
        unlink((made + "/" + name).c_str());
      }
      rmdir(made.c_str());
      return wrong == -ENOTEMPTY ? -EEXIST : wrong;
    }
    if (!durable) return 0;
    const Descriptor above(::open(parent_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return above && fsync(above.get()) == 0 ? 0 : -errno;
  } catch (...) {
    return -ENOMEM;
  }
}

std::optional<recorder::Error> make_container(const std::string& path,
                                              const Description& description) {
  const int wrong = make_container(path, description, 0644, true);
  if (wrong == 0) return std::nullopt;
  return recorder::Error{path, std::string("cannot be made: ") + std::strerror(-wrong)};
}

}  // namespace iotune::logstore
