#include "tuner/mpiio/user_hints.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "core/os/raw_syscall.h"

namespace iotune::tuner {
namespace {

// A device that never ends is no hints file.
constexpr std::size_t kMostFileBytes = std::size_t{1} << 24;

bool ends_name(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\n' || c == '#';
}

}  // namespace

bool UserHints::find(const char* name, std::size_t bytes) const noexcept {
  for (const char *at = names_, *end = names_ + used_; at < end;) {
    const auto* const line_end =
        static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
    const auto length = static_cast<std::size_t>(line_end - at);
    if (length == bytes && std::memcmp(at, name, bytes) == 0) return true;
    at = line_end + 1;
  }
  return false;
}

void UserHints::add(const char* name, std::size_t bytes) noexcept {
  // No hint of iotune's has so long a name.
  if (bytes == 0 || bytes > kMostNameBytes || find(name, bytes)) return;
  if (used_ + bytes + 1 > sizeof names_) {
    all_ = true;
    return;
  }
  std::memcpy(names_ + used_, name, bytes);
  used_ += bytes;
  names_[used_++] = '\n';
}

bool UserHints::add_file(const char* path) noexcept {
  const int fd = path == nullptr ? -1 : raw::open(path, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return false;
  enum { kBeforeName, kInName, kBehindName } place = kBeforeName;
  char piece[1024], name[kMostNameBytes + 1];
  std::size_t length = 0, read = 0;
  long bytes = 0;
  while (read < kMostFileBytes &&
         ((bytes = raw::read(fd, piece, sizeof piece)) > 0 || bytes == -EINTR)) {
    for (long i = 0; i < bytes; ++i) {
      const char c = piece[i];
      if (place == kBeforeName && c != ' ' && c != '\t') place = kInName;
      if (place == kInName && ends_name(c)) {
        add(name, length);
        place = kBehindName;
      } else if (place == kInName && length < sizeof name) {
        name[length++] = c;
      }
      if (c == '\n') {
        place = kBeforeName;
        length = 0;
      }
    }
    if (bytes > 0) read += static_cast<std::size_t>(bytes);
  }
  raw::close(fd);
  if (place == kInName) add(name, length);
  if (bytes != 0) all_ = true;
  return true;
}

void UserHints::add_variable(const char* text) noexcept {
  while (*text != '\0') {
    const std::size_t bytes = std::strcspn(text, ":,");
    const auto* const equal = static_cast<const char*>(std::memchr(text, '=', bytes));
    if (equal != nullptr) add(text, static_cast<std::size_t>(equal - text));
    text += bytes;
    if (*text != '\0') ++text;
  }
}

bool UserHints::has(const char* name) const noexcept {
  return all_ || find(name, std::strlen(name));
}

}  // namespace iotune::tuner
