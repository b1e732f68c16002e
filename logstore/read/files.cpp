#include "logstore/read/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace iotune::logstore {

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = other.release();
  }
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

int Descriptor::release() noexcept {
  const int fd = fd_;
  fd_ = -1;
  return fd;
}

Error failed(const std::string& path, const char* what) {
  return {path, std::string(what) + ": " + std::strerror(errno)};
}

// O_NONBLOCK: a pipe of that name would never open.
Result<OpenFile> open_regular(int directory, const std::string& name) {
  OpenFile file;
  file.descriptor =
      Descriptor(openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat about {};
  if (file.descriptor.get() < 0) {
    if (errno == ELOOP) return Error{name, "is a link; a container has none"};
    return failed(name, "cannot be opened");
  }
  if (fstat(file.descriptor.get(), &about) != 0) return failed(name, "cannot be looked at");
  if (!S_ISREG(about.st_mode)) return Error{name, "is no regular file"};
  file.size = about.st_size;
  return file;
}

FileIdentity identity_of(int directory, const char* name) noexcept {
  struct stat about {};
  if (fstatat(directory, name, &about, AT_SYMLINK_NOFOLLOW) != 0) return {};
  return {about.st_ino, about.st_mtim.tv_sec, about.st_mtim.tv_nsec, about.st_size};
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

}  // namespace iotune::logstore
