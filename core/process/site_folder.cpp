#include "core/process/site_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/os/raw_syscall.h"

namespace iotune {
namespace {

unsigned long user() noexcept {
  return static_cast<unsigned long>(raw::call(SYS_geteuid));
}

// Of the folder that the site has made: up to the slash before the first name with %u.
std::size_t bytes_of_site(const char* pattern) noexcept {
  const char* at = std::strstr(pattern, "%u");
  if (at == nullptr) return 0;
  while (at > pattern && *at != '/') --at;
  return static_cast<std::size_t>(at - pattern);
}

const char* words_of(long error) noexcept {
  switch (error) {
    case -ENOENT:
      return "is not there";
    case -EACCES:
    case -EPERM:
      return "may not be written by this user";
    case -EROFS:
      return "is on a read-only file system";
    case -ENOSPC:
    case -EDQUOT:
      return "has no space left";
    case -ELOOP:
    case -ENOTDIR:
      return "is a link or no folder";
    default:
      return "cannot be opened";
  }
}

// Of the folder that the site has made: where others may write in it, a folder with the sticky bit
// alone keeps them from putting something else in the place of a user's. nullptr, or why not.
const char* check_site(int folder) noexcept {
  struct stat status {};
  constexpr long kEmptyPath = 0x1000;  // AT_EMPTY_PATH
  if (raw::call(SYS_newfstatat, folder, raw::word(""), raw::word(&status), kEmptyPath) != 0) {
    return "cannot be opened";
  }
  const bool is_open = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  return is_open && (status.st_mode & S_ISVTX) == 0
             ? "lies in a folder that others may write, without a sticky bit"
             : nullptr;
}

// A folder of the user's, by its descriptor; nullptr, or why it is not to be used.
const char* check(int folder, bool group, bool make) noexcept {
  struct stat status {};
  constexpr long kEmptyPath = 0x1000;  // AT_EMPTY_PATH
  if (raw::call(SYS_newfstatat, folder, raw::word(""), raw::word(&status), kEmptyPath) != 0) {
    return "cannot be opened";
  }
  if (status.st_uid != user()) return "belongs to another user";
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "may be written by others";
  const unsigned mode = status.st_mode & 07777u;
  // The umask may have taken the group's part away.
  const unsigned wanted = (mode & ~unsigned{S_IRWXO}) | (group ? S_IRGRP | S_IXGRP : 0u);
  if (make && wanted != mode) raw::call(SYS_fchmod, folder, wanted);
  return nullptr;
}

// One name further down; the folder's descriptor or a negative errno.
int enter(int at, const char* name, unsigned mode, bool make) noexcept {
  if (make) {
    const long made = raw::call(SYS_mkdirat, at, raw::word(name), mode);
    if (made != 0 && made != -EEXIST) return static_cast<int>(made);
  }
  return static_cast<int>(raw::call(SYS_openat, at, raw::word(name),
                                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0));
}

}  // namespace

const char* fault_of_site_folder(const char* pattern, std::size_t bytes) noexcept {
  if (bytes == 0 || pattern[0] != '/') return "is no path that begins with /";
  bool has_user = false;
  for (std::size_t i = 0; i < bytes; ++i) {
    if (pattern[i] == '%') {
      if (i + 1 == bytes || pattern[i + 1] != 'u') return "has a % that is not the one of %u";
      has_user = true;
    }
    if (pattern[i] == '.' && pattern[i - 1] == '/' && i + 1 < bytes && pattern[i + 1] == '.' &&
        (i + 2 == bytes || pattern[i + 2] == '/')) {
      return "may not have .. in its path";
    }
  }
  return has_user ? nullptr : "has no %u for the user's number";
}

void add_site_folder(ShortText<4096>& path, const char* pattern) noexcept {
  const unsigned long id = user();
  for (const char* at = pattern; *at != '\0'; ++at) {
    if (at[0] == '%' && at[1] == 'u') {
      path << id;
      ++at;
    } else {
      path << *at;
    }
  }
}

const char* site_folder(const char* pattern, const char* name, bool group, bool make,
                        ShortText<4096>& path) noexcept {
  path.clear();
  const std::size_t site_bytes = bytes_of_site(pattern);
  ShortText<4096> site;
  site.add(pattern, site_bytes == 0 ? 1 : site_bytes);
  add_site_folder(path, pattern);
  path << '/' << name;
  if (path.cut()) return "is too long";
  int at = static_cast<int>(raw::call(SYS_openat, raw::kAtFdcwd, raw::word(site.c_str()),
                                      O_PATH | O_DIRECTORY | O_CLOEXEC, 0));
  if (at < 0) return words_of(at);
  const char* why = check_site(at);
  for (const char* next = path.c_str() + site_bytes; why == nullptr && *next != '\0';) {
    while (*next == '/') ++next;
    const std::size_t bytes = std::strcspn(next, "/");
    if (bytes == 0) break;
    ShortText<256> part;
    part.add(next, bytes);
    next += bytes;
    if (part.cut()) {
      why = "has a name that is too long";
      break;
    }
    const int below = enter(at, part.c_str(), group ? 0750 : 0700, make);
    if (below == -ENOENT && !make) {
      // It would be made: what counts is whether it can.
      const long allowed = raw::call(SYS_faccessat, at, raw::word("."), W_OK | X_OK);
      if (allowed != 0) why = words_of(allowed);
      break;
    }
    why = below < 0 ? words_of(below) : check(below, group, make);
    if (below >= 0) {
      raw::close(at);
      at = below;
    }
  }
  if (why == nullptr && make) {
    const long allowed = raw::call(SYS_faccessat, at, raw::word("."), W_OK | X_OK);
    if (allowed != 0) why = words_of(allowed);
  }
  raw::close(at);
  return why;
}

}  // namespace iotune
