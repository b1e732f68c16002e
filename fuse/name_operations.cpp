// Operations on names and attributes.
#include <dirent.h>
#include <fcntl.h>
#include <fuse.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>

#include "fuse/logged_root.h"
#include "fuse/mounted_root.h"
#include "fuse/root_names.h"

namespace iotune::fuse {
namespace {

std::string real(const char* path) {
  return mounted_root().real_path(path);
}

// As give_away(), of what is no file. Only what was made: something else may have got the name by
// now, which its type tells. Who may put there something of the same type has it anyway.
int made(const Request& request, int result, const NameInFolder& name, mode_t type) {
  if (result != 0) return answer(request, result);
  const HeldFile file(name.folder(), name.name());
  struct stat found {};
  if (file.is_there() && fstat(file.fd(), &found) == 0 && (found.st_mode & S_IFMT) == type) {
    give_away(file.fd());
  }
  return answer(request, 0);
}

int do_readlink(const char* path, char* to, std::size_t size) {
  const Request request;
  const ssize_t bytes = ::readlink(real(path).c_str(), to, size - 1);
  if (bytes >= 0) to[bytes] = '\0';
  return answer(request, bytes < 0 ? -1 : 0);
}

int do_mknod(const char* path, mode_t mode, dev_t device) {
  const Request request;
  const std::string place = real(path);
  if (mounted_root().options.logstore && S_ISREG(mode)) {
    return answered(request, make_logged(place, mode));
  }
  const NameInFolder name(place);
  if (!name.is_there()) return answer(request, -1);
  if (!S_ISREG(mode)) {
    // mknodat is a function of glibc since 2.33 only.
    const long result = ::syscall(SYS_mknodat, name.folder(), name.name(), mode, device);
    return made(request, static_cast<int>(result), name, mode & S_IFMT);
  }
  const int fd = ::openat(name.folder(), name.name(),
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode & 07777);
  if (fd < 0) return answer(request, -1);
  give_away(fd);
  ::close(fd);
  return answer(request, 0);
}

int do_mkdir(const char* path, mode_t mode) {
  const Request request;
  const NameInFolder name(real(path));
  if (!name.is_there()) return answer(request, -1);
  return made(request, ::mkdirat(name.folder(), name.name(), mode), name, S_IFDIR);
}

int do_symlink(const char* target, const char* path) {
  const Request request;
  const NameInFolder name(real(path));
  if (!name.is_there()) return answer(request, -1);
  return made(request, ::symlinkat(target, name.folder(), name.name()), name, S_IFLNK);
}

int do_unlink(const char* path) {
  const Request request;
  const std::string place = real(path);
  if (is_logged(place)) return answered(request, logstore::remove_container(place));
  const NameInFolder name(place);
  return answer(request, name.is_there() ? ::unlinkat(name.folder(), name.name(), 0) : -1);
}

int do_rmdir(const char* path) {
  const Request request;
  const NameInFolder name(real(path));
  return answer(request,
                name.is_there() ? ::unlinkat(name.folder(), name.name(), AT_REMOVEDIR) : -1);
}

int do_rename(const char* from, const char* to, unsigned flags) {
  const Request request;
  const std::string old = real(from);
  const std::string fresh = real(to);
  if (is_logged(old) || is_logged(fresh)) {
    return answered(request, logstore::rename_container(old, fresh, flags));
  }
  const NameInFolder source(old);
  const NameInFolder target(fresh);
  if (!source.is_there() || !target.is_there()) return answer(request, -1);
  return answer(request,
                renameat2(source.folder(), source.name(), target.folder(), target.name(), flags));
}

int do_link(const char* from, const char* to) {
  const Request request;
  // A directory has one name.
  if (is_logged(real(from))) return answered(request, -EPERM);
  const NameInFolder source(real(from));
  const NameInFolder target(real(to));
  if (!source.is_there() || !target.is_there()) return answer(request, -1);
  return answer(request,
                ::linkat(source.folder(), source.name(), target.folder(), target.name(), 0));
}

int do_chmod(const char* path, mode_t mode, fuse_file_info* /*info*/) {
  const Request request;
  const std::string place = real(path);
  if (is_logged(place)) {
    std::shared_ptr<LoggedFile> file;
    const int wrong = open_logged(place, file);
    return answered(request, wrong != 0 ? wrong : file->set_mode(mode));
  }
  const HeldFile held(place);
  return answer(request, held.is_there() ? ::chmod(held.path().c_str(), mode) : -1);
}

int do_chown(const char* path, uid_t owner, gid_t group, fuse_file_info* /*info*/) {
  const Request request;
  const std::string place = real(path);
  if (is_logged(place)) {
    std::shared_ptr<LoggedFile> file;
    const int wrong = open_logged(place, file);
    return answered(request, wrong != 0 ? wrong : file->set_owner(owner, group));
  }
  const HeldFile held(place);
  return answer(request,
                held.is_there() ? ::fchownat(held.fd(), "", owner, group, AT_EMPTY_PATH) : -1);
}

int do_statfs(const char* path, struct statvfs* to) {
  const Request request;
  return answer(request, ::statvfs(real(path).c_str(), to));
}

int do_opendir(const char* path, fuse_file_info* info) {
  const Request request;
  const int fd = open_real(real(path), O_RDONLY | O_DIRECTORY);
  DIR* const directory = fd < 0 ? nullptr : ::fdopendir(fd);
  info->fh = reinterpret_cast<std::uint64_t>(directory);
  return answer(request, directory == nullptr ? -1 : 0);
}

DIR* directory_of(const fuse_file_info& info) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): libfuse keeps it as a number
  return reinterpret_cast<DIR*>(info.fh);
}

// A directory that is a file of the mount.
void show_as_file(DIR* directory, const char* name, struct stat& known) {
  const int at = dirfd(directory);
  if (!mounted_root().options.logstore || !logstore::is_container(at, name, false)) return;
  struct stat handle {};
  if (fstatat(at, (std::string(name) + "/handle").c_str(), &handle, AT_SYMLINK_NOFOLLOW) == 0) {
    known.st_ino = handle.st_ino;
  }
  known.st_mode = S_IFREG;
}

int do_readdir(const char* /*path*/, void* buffer, fuse_fill_dir_t fill, off_t /*offset*/,
               fuse_file_info* info, fuse_readdir_flags /*flags*/) {
  const Request request;
  DIR* const directory = directory_of(*info);
  rewinddir(directory);
  errno = 0;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the kernel lets one thread at a time read of a handle
  while (const dirent* const entry = ::readdir(directory)) {
    // Where libfuse keeps what was removed while somebody had it open.
    if (std::string_view(entry->d_name).starts_with(".fuse_hidden")) continue;
    struct stat known {};
    known.st_ino = entry->d_ino;
    known.st_mode = static_cast<mode_t>(entry->d_type) << 12U;
    if (entry->d_type == DT_DIR) show_as_file(directory, entry->d_name, known);
    if (fill(buffer, entry->d_name, &known, 0, fuse_fill_dir_flags{}) != 0) return -ENOMEM;
  }
  return answer(request, errno != 0 ? -1 : 0);
}

int do_releasedir(const char* /*path*/, fuse_file_info* info) {
  ::closedir(directory_of(*info));
  return 0;
}

int do_setxattr(const char* path, const char* name, const char* value, std::size_t size,
                int flags) {
  const Request request;
  return answer(request,
                ::lsetxattr(attributes_path(real(path)).c_str(), name, value, size, flags));
}

int sized(const Request& request, ssize_t bytes) {
  const int error = answer(request, bytes < 0 ? -1 : 0);
  return error != 0 ? error : static_cast<int>(bytes);
}

int do_getxattr(const char* path, const char* name, char* value, std::size_t size) {
  const Request request;
  return sized(request, ::lgetxattr(attributes_path(real(path)).c_str(), name, value, size));
}

int do_listxattr(const char* path, char* names, std::size_t size) {
  const Request request;
  return sized(request, ::llistxattr(attributes_path(real(path)).c_str(), names, size));
}

int do_removexattr(const char* path, const char* name) {
  const Request request;
  return answer(request, ::lremovexattr(attributes_path(real(path)).c_str(), name));
}

}  // namespace

void add_name_operations(fuse_operations& operations) {
  operations.readlink = do_readlink;
  operations.mknod = do_mknod;
  operations.mkdir = do_mkdir;
  operations.symlink = do_symlink;
  operations.unlink = do_unlink;
  operations.rmdir = do_rmdir;
  operations.rename = do_rename;
  operations.link = do_link;
  operations.chmod = do_chmod;
  operations.chown = do_chown;
  operations.statfs = do_statfs;
  operations.opendir = do_opendir;
  operations.readdir = do_readdir;
  operations.releasedir = do_releasedir;
  operations.setxattr = do_setxattr;
  operations.getxattr = do_getxattr;
  operations.listxattr = do_listxattr;
  operations.removexattr = do_removexattr;
}

}  // namespace iotune::fuse
