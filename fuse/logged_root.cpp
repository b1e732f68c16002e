#include "fuse/logged_root.h"

#include <fcntl.h>
#include <fuse.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "fuse/mounted_root.h"

namespace iotune::fuse {
namespace {

void say(const char* text) {
  std::fprintf(stderr, "iotune: %s\n", text);
}

logstore::StoreOptions options() {
  logstore::StoreOptions chosen;
  chosen.say = say;
  return chosen;
}

}  // namespace

bool is_logged(const std::string& real) {
  return mounted_root().options.logstore && logstore::is_container(AT_FDCWD, real.c_str(), false);
}

int open_logged(const std::string& real, std::shared_ptr<LoggedFile>& file) {
  return LoggedFile::open(real, options(), file);
}

int make_logged(const std::string& real, mode_t mode) {
  if (const int wrong = LoggedFile::make(real, mode & 07777); wrong != 0) return wrong;
  if (geteuid() != 0) return 0;
  const fuse_context* const context = fuse_get_context();
  std::shared_ptr<LoggedFile> file;
  if (open_logged(real, file) == 0 && file->set_owner(context->uid, context->gid) != 0) {
    // A root that keeps no owners: the file is there all the same.
  }
  return 0;
}

int open_handle(const std::string& real, int flags) {
  const int kept = (flags & O_ACCMODE) | O_CLOEXEC | O_NOFOLLOW;
  const int handle = ::open((real + "/handle").c_str(), kept);
  // A container without one. Of this file nobody writes either.
  return handle < 0 && errno == ENOENT
             ? ::open((real + "/container").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
             : handle;
}

int status_of(const std::string& real, struct stat& to) {
  if (lstat(real.c_str(), &to) != 0) return -errno;
  if (!S_ISDIR(to.st_mode) || !is_logged(real)) return 0;
  std::shared_ptr<LoggedFile> file;
  if (const int wrong = open_logged(real, file); wrong != 0) return wrong;
  return file->status(to);
}

std::string attributes_path(const std::string& real) {
  return is_logged(real) ? real + "/handle" : real;
}

int allocate_logged(LoggedFile& file, int mode, off_t offset, off_t length) {
  if (offset < 0 || length <= 0) return -EINVAL;
  const bool keeps_size = (mode & FALLOC_FL_KEEP_SIZE) != 0;
  const int kind = mode & ~FALLOC_FL_KEEP_SIZE;
  if (kind != 0 && kind != FALLOC_FL_ZERO_RANGE && (kind != FALLOC_FL_PUNCH_HOLE || !keeps_size)) {
    return -EOPNOTSUPP;
  }
  if (kind != 0) {
    if (const int wrong = file.punch(offset, length); wrong != 0) return wrong;
  }
  if (keeps_size) return 0;
  const std::int64_t size = file.size();
  if (size < 0) return static_cast<int>(size);
  // A truncation would cut what another process writes behind it meanwhile; this byte may only
  // hide one that it writes just here.
  if (size >= offset + length) return 0;
  const std::int64_t written = file.write(offset + length - 1, "", 1);
  return written < 0 ? static_cast<int>(written) : 0;
}

}  // namespace iotune::fuse
