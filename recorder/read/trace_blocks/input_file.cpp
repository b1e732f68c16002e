#include "recorder/read/trace_blocks/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace iotune::recorder {

Result<InputFile> InputFile::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Error{path, std::generic_category().message(errno)};
  struct stat status {};
  if (::fstat(fd, &status) != 0) {
    const int error = errno;
    ::close(fd);
    return Error{path, std::generic_category().message(error)};
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(fd);
    return Error{path, "not a regular file"};
  }
  return InputFile(path, fd);
}

InputFile InputFile::of_bytes(std::string path, std::vector<std::byte> bytes) {
  InputFile file(std::move(path), -1);
  file.bytes_ = std::move(bytes);
  return file;
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      bytes_(std::move(other.bytes_)) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

std::uint64_t InputFile::size() const {
  if (fd_ < 0) return bytes_.size();
  struct stat status {};
  return ::fstat(fd_, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

std::size_t InputFile::read(std::uint64_t offset, std::span<std::byte> to) const {
  if (fd_ < 0) {
    if (offset >= bytes_.size()) return 0;
    const auto rest = std::span(bytes_).subspan(static_cast<std::size_t>(offset));
    const std::size_t size = std::min(to.size(), rest.size());
    std::copy_n(rest.begin(), size, to.begin());
    return size;
  }
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t got =
        ::pread(fd_, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace iotune::recorder
