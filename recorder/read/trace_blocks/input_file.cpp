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
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) {
    return Error{path, std::generic_category().message(errno)};
  }
  if (!S_ISREG(status.st_mode)) return Error{path, "not a regular file"};
  return InputFile(path, std::move(file));
}

InputFile InputFile::of_bytes(std::string path, std::vector<std::byte> bytes) {
  InputFile file(std::move(path), Descriptor());
  file.bytes_ = std::move(bytes);
  return file;
}

std::uint64_t InputFile::size() const {
  if (!file_) return bytes_.size();
  struct stat status {};
  return ::fstat(file_.get(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

std::size_t InputFile::read(std::uint64_t offset, std::span<std::byte> to) const {
  if (!file_) {
    if (offset >= bytes_.size()) return 0;
    const auto rest = std::span(bytes_).subspan(static_cast<std::size_t>(offset));
    const std::size_t size = std::min(to.size(), rest.size());
    std::copy_n(rest.begin(), size, to.begin());
    return size;
  }
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t got =
        ::pread(file_.get(), to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace iotune::recorder
