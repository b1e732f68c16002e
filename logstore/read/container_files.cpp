#include "logstore/read/container_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "logstore/format.h"
#include "patterns/bytes.h"

namespace iotune::logstore {
namespace {

Error refused(const std::string& path, const char* what, int number) {
  Error error{path, what};
  errno = number;
  return error;
}

// The name of a writer, if the file is one of its two.
std::optional<std::string> writer_of(std::string_view name, std::string_view ending) {
  if (name.size() <= ending.size() || !name.ends_with(ending)) return std::nullopt;
  const std::string_view writer = name.substr(0, name.size() - ending.size());
  if (!is_writer_name(writer.data(), writer.size())) return std::nullopt;
  return std::string(writer);
}

bool is_known(std::string_view name) {
  return name == "." || name == ".." || name == kReadmeName || name == kDescriptionName ||
         name == kHandleName || name == kAppendName;
}

}  // namespace

Error file_error(const std::string& path, const char* what) {
  const int number = errno;
  Error error{path, std::string(what) + ": " + std::strerror(number)};
  errno = number;
  return error;
}

int pass_on(int fd) noexcept {
  // Never a low number: another thread of the program may be about to get that one again by
  // close(0) and open().
  const int from = first_high();
  const int copy = from > 0 ? fcntl(fd, F_DUPFD_CLOEXEC, from) : -1;
  if (copy >= 0 && ::close(copy) == 0) return 0;
  // No such number is free, or the close was interrupted.
  if (copy >= 0 && errno != EINTR) return -errno;
  return fdatasync(fd) == 0 ? 0 : -errno;
}

// Exclusive locks of some file systems need to be open for writing.
Descriptor open_description(int directory) noexcept {
  constexpr int kFlags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  Descriptor file(openat(directory, kDescriptionName, O_RDWR | kFlags));
  if (!file && errno != ENOENT && errno != ELOOP) {
    file = Descriptor(openat(directory, kDescriptionName, O_RDONLY | kFlags));
  }
  return moved_high(std::move(file));
}

Descriptor open_openers_lock(int directory, int access) noexcept {
  constexpr int kFlags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  Descriptor file(openat(directory, kReadmeName, access | kFlags));
  if (!file && access != O_RDONLY && errno != ENOENT && errno != ELOOP) {
    file = Descriptor(openat(directory, kReadmeName, O_RDONLY | kFlags));
  }
  return moved_high(std::move(file));
}

int find_container(const char* path, bool follows, FoundContainer& to) noexcept {
  const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (follows ? 0 : O_NOFOLLOW);
  FoundContainer found;
  found.directory = moved_high(Descriptor(::open(path, flags)));
  if (!found.directory) return -errno;
  found.description = open_description(found.directory.get());
  if (!found.description) return errno == ENOENT || errno == ELOOP ? -EISDIR : -errno;
  struct stat about {};
  if (fstat(found.description.get(), &about) != 0) return -errno;
  if (!S_ISREG(about.st_mode)) return -EISDIR;
  const ssize_t size = read_at(found.description.get(), found.head, 0);
  if (size < 0) return -errno;
  Description description{};
  std::uint32_t version = 0;
  if (size != kHeadBytes ||
      read_description(found.head, description, version) == HeadProblem::kNotOurs) {
    return -EISDIR;
  }
  to = std::move(found);
  return 0;
}

// O_NONBLOCK: a pipe of that name would never open.
Result<OpenFile> open_regular(int directory, const std::string& name) {
  OpenFile file;
  file.descriptor =
      Descriptor(openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat about {};
  if (!file.descriptor) {
    if (errno == ELOOP) return refused(name, "is a link; a container has none", ELOOP);
    return file_error(name, "cannot be opened");
  }
  if (fstat(file.descriptor.get(), &about) != 0) return file_error(name, "cannot be looked at");
  if (!S_ISREG(about.st_mode)) return refused(name, "is no regular file", EINVAL);
  file.size = about.st_size;
  return file;
}

ssize_t read_at(int fd, std::span<std::byte> to, std::int64_t offset) {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t some =
        pread(fd, to.data() + done, to.size() - done, offset + static_cast<std::int64_t>(done));
    if (some < 0 && errno == EINTR) continue;
    if (some < 0) return -1;
    if (some == 0) break;
    done += static_cast<std::size_t>(some);
  }
  return static_cast<ssize_t>(done);
}

bool write_at(int fd, std::span<const std::byte> from, std::int64_t offset) {
  while (!from.empty()) {
    const ssize_t some = pwrite(fd, from.data(), from.size(), offset);
    if (some < 0 && errno == EINTR) continue;
    if (some == 0) errno = EIO;
    if (some <= 0) return false;
    from = from.subspan(static_cast<std::size_t>(some));
    offset += some;
  }
  return true;
}

std::int64_t size_of_file(int directory, const char* name) noexcept {
  struct stat about {};
  return fstatat(directory, name, &about, AT_SYMLINK_NOFOLLOW) == 0 ? about.st_size : -1;
}

MergedIdentity merged_identity(int directory) noexcept {
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const Descriptor file(openat(directory, kMergedName, kFlags));
  struct stat about {};
  if (!file || fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return {};
  std::array<std::byte, kHeadBytes> head{};
  if (read_at(file.get(), head, 0) < 0) return {};
  patterns::ByteReader generation(std::span<const std::byte>(head).subspan(kGenerationAt));
  return {about.st_ino, about.st_size, generation.u64le()};
}

namespace {

void take_name(const char* entry, ContainerNames& found) {
  const std::string_view name = entry;
  if (name == kMergedName) {
    found.has_merged = true;
  } else if (name == kNewMergedName) {
    found.has_new_merged = true;
  } else if (const auto log = writer_of(name, kLogEnding)) {
    found.writers[*log].log = true;
  } else if (const auto index = writer_of(name, kIndexEnding)) {
    found.writers[*index].index = true;
  } else if (!is_known(name)) {
    found.strangers.emplace_back(name);
  }
}

}  // namespace

// By the system call: libc's directories cost another look and 32 KiB each.
Result<ContainerNames> list_container(int directory, std::size_t most) {
  // A descriptor of its own: a position in a directory is its descriptor's.
  const Descriptor open(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!open) return file_error("", "cannot be listed");
  ContainerNames found;
  // Of an entry (getdents64(2)): inode, offset, size of the entry, type, name.
  constexpr std::size_t kSizeAt = 16;
  constexpr std::size_t kNameAt = 19;
  alignas(8) std::array<char, 16384> entries;
  while (true) {
    const long bytes = syscall(SYS_getdents64, open.get(), entries.data(), entries.size());
    if (bytes < 0) return file_error("", "cannot be listed");
    if (bytes == 0) break;
    for (std::size_t at = 0; at < static_cast<std::size_t>(bytes);) {
      std::uint16_t size = 0;
      std::memcpy(&size, entries.data() + at + kSizeAt, sizeof size);
      take_name(entries.data() + at + kNameAt, found);
      at += size;
    }
    if (found.writers.size() > most || found.strangers.size() > most) {
      return refused("", "has more files than the limit allows", E2BIG);
    }
  }
  std::ranges::sort(found.strangers);
  return found;
}

namespace {

std::size_t share_of_descriptors() noexcept {
  struct rlimit limit {};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / 8 : SIZE_MAX;
}

}  // namespace

Result<std::shared_ptr<const OpenFile>> OpenLogs::open(int directory, const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (const auto found = open_.find(name); found != open_.end()) {
    found->second.used = ++clock_;
    return found->second.file;
  }
  auto opened = open_regular(directory, name);
  if (!opened && (errno == EMFILE || errno == ENFILE) && !holds_) {
    open_.clear();
    opened = open_regular(directory, name);
  }
  if (!opened) return opened.error();
  if (high_) opened->descriptor = moved_high(std::move(opened->descriptor));
  std::shared_ptr<const OpenFile> file = std::make_shared<OpenFile>(std::move(*opened));
  const std::size_t most = holds_ ? most_ : std::min(most_, share_of_descriptors());
  if (open_.size() >= most && !open_.empty()) {
    open_.erase(
        std::ranges::min_element(open_, {}, [](const auto& entry) { return entry.second.used; }));
  }
  open_.emplace(name, Entry{file, ++clock_});
  return file;
}

void OpenLogs::clear() noexcept {
  const std::lock_guard lock(mutex_);
  open_.clear();
}

}  // namespace iotune::logstore
