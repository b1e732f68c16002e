#include "core/process/process_tree.h"

#include <fcntl.h>

#include <cstdlib>
#include <cstring>

#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"
#include "core/run/run_identity.h"

namespace iotune {
namespace {

// "NAME=value" as an environment has it; found byte by byte, for an environment may be long.
class Entry {
 public:
  explicit Entry(const char* name) noexcept : name_(name), value_(std::getenv(name)) {}
  bool exists() const noexcept { return value_ != nullptr; }
  bool found() const noexcept { return found_; }
  void see(char c) noexcept {
    const std::size_t name = std::strlen(name_);
    if (matches_) {
      const char wanted = at_ < name ? name_[at_] : at_ == name ? '=' : value_[at_ - name - 1];
      matches_ = wanted == c;
      if (matches_ && c == '\0') found_ = true;
      ++at_;
    }
    if (c == '\0') {
      matches_ = true;
      at_ = 0;
    }
  }

 private:
  const char *name_, *value_;
  std::size_t at_ = 0;
  bool matches_ = true, found_ = false;
};

bool began_alike(long pid) noexcept {
  Entry trace("IOTUNE_TRACE"), preload("LD_PRELOAD");
  if (!trace.exists() || !preload.exists()) return false;
  ShortText<64> path;
  path << "/proc/" << pid << "/environ";
  const int fd = raw::open(path.c_str(), O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return false;
  char piece[1024];
  for (long bytes; (bytes = raw::read(fd, piece, sizeof piece)) > 0;) {
    for (long i = 0; i < bytes; ++i) {
      trace.see(piece[i]);
      preload.see(piece[i]);
    }
  }
  raw::close(fd);
  return trace.found() && preload.found();
}

}  // namespace

const char* process_tree() noexcept {
  static constinit ShortText<64> tree;
  if (tree.size() == 0) {
    constexpr int kMostAbove = 64;
    long top = raw::getpid(), above = raw::getppid();
    for (int i = 0; i < kMostAbove && above > 1 && began_alike(above); ++i) {
      top = above;
      above = parent_of(above);
    }
    tree << top << '-' << process_start_time(top);
  }
  return tree.c_str();
}

}  // namespace iotune
