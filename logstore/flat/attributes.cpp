#include "logstore/flat/attributes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include "logstore/format.h"
#include "logstore/read/container_files.h"

namespace iotune::logstore {
namespace {

constexpr char kAccessList[] = "system.posix_acl_access";

// Text or value of an attribute, whose size is only known once it has been asked for.
template <class Ask>
bool ask(Ask question, std::vector<char>& to) {
  for (;;) {
    const ssize_t size = question(nullptr, 0);
    if (size < 0) return false;
    to.resize(static_cast<std::size_t>(size));
    if (size == 0) return true;
    const ssize_t got = question(to.data(), to.size());
    if (got >= 0) {
      to.resize(static_cast<std::size_t>(got));
      return true;
    }
    if (errno != ERANGE) return false;
  }
}

// Of `from`, by its path, for it need not be readable. Those of the system's security and of root
// are the system's to give.
int copy_attributes(const std::string& from, bool with_access_list, int file) {
  std::vector<char> names;
  std::vector<char> value;
  const auto list = [&](char* to, std::size_t size) { return llistxattr(from.c_str(), to, size); };
  if (!ask(list, names)) return errno == ENOTSUP || errno == ENOENT ? 0 : -errno;
  for (std::size_t at = 0; at < names.size();) {
    const std::string name = &names[at];
    at += name.size() + 1;
    const bool is_access_list = with_access_list && name == kAccessList;
    if (!name.starts_with("user.") && !is_access_list) continue;
    const auto get = [&](char* to, std::size_t size) {
      return lgetxattr(from.c_str(), name.c_str(), to, size);
    };
    if (!ask(get, value)) {
      if (errno == ENODATA) continue;
      return -errno;
    }
    if (fsetxattr(file, name.c_str(), value.data(), value.size(), 0) == 0) continue;
    // A copy on another file system, which has none.
    if (errno != ENOTSUP) return -errno;
  }
  return 0;
}

int take(int directory, int file) {
  struct stat like {};
  const char* name = kHandleName;
  if (fstatat(directory, name, &like, AT_SYMLINK_NOFOLLOW) != 0) {
    name = kDescriptionName;
    if (fstatat(directory, name, &like, AT_SYMLINK_NOFOLLOW) != 0) return -errno;
  }
  // Another owner is only root's to give.
  if (fchown(file, like.st_uid, like.st_gid) != 0 && errno != EPERM) return -errno;
  // What the folder gives to all that is made in it.
  if (fremovexattr(file, kAccessList) != 0 && errno != ENODATA && errno != ENOTSUP) return -errno;
  // Tools that know no containers give attributes to the directory; through a mount they are the
  // handle's.
  const std::string path = "/proc/self/fd/" + std::to_string(directory) + "/";
  if (const int wrong = copy_attributes(path + ".", false, file); wrong != 0) return wrong;
  if (const int wrong = copy_attributes(path + name, true, file); wrong != 0) return wrong;
  const timespec times[2] = {like.st_atim, like.st_mtim};
  return fchmod(file, like.st_mode & 07777) == 0 && futimens(file, times) == 0 ? 0 : -errno;
}

}  // namespace

int take_attributes(int directory, int file) noexcept {
  try {
    return take(directory, file);
  } catch (...) {
    return -ENOMEM;
  }
}

}  // namespace iotune::logstore
