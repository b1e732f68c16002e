#include "recorder/wrappers/posix/call_path.h"

#include <fcntl.h>

#include "core/os/raw_syscall.h"
#include "recorder/wrappers/descriptors/path_filter.h"

namespace iotune::recorder {
namespace {

template <std::size_t N>
void begin_with_directory(int directory, ShortText<N>& to) noexcept {
  to.clear();
  if (directory == AT_FDCWD) {
    const long bytes = raw::getcwd(to.tail(), to.room());
    if (bytes > 1) to.grew(static_cast<std::size_t>(bytes - 1));
    if (bytes <= 0) to.add("?", 1);
  } else {
    ShortText<64> link;
    link << "/proc/self/fd/" << directory;
    const long bytes = raw::readlink(link.c_str(), to.tail(), to.room() - 1);
    if (bytes > 0) to.grew(static_cast<std::size_t>(bytes));
  }
  if (to.size() != 1 || to.c_str()[0] != '/') to << '/';
}

}  // namespace

bool CallPath::resolve(int directory, const char* path) noexcept {
  resolved_ = path;
  if (path[0] == '/') return path_is_traced(path);
  while (path[0] == '.' && path[1] == '/') path += 2;
  begin_with_directory(directory, near_);
  near_ << path;
  resolved_ = near_.c_str();
  constexpr std::size_t kMaybeCut = kNearBytes - 64;
  if (near_.cut() || near_.size() > kMaybeCut || resolved_[0] == '?') {
    far_ = static_cast<ShortText<4096>*>(private_memory(sizeof *far_));
    if (far_ == nullptr) return false;
    begin_with_directory(directory, *far_);
    *far_ << path;
    resolved_ = far_->c_str();
    if (far_->cut() || resolved_[0] == '?') return false;
  }
  return path_is_traced(resolved_);
}

}  // namespace iotune::recorder
