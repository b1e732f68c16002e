/* A file system that shows what ROOT has and asks for it late: `lazy_mount ROOT POINT -f`.
 *
 * What a name or a descriptor was found to be is taken for true for ten minutes, so that two mounts
 * of one folder stand for two nodes whose clients keep attributes, as NFS's do. Who wants to know
 * better has to say so (AT_STATX_FORCE_SYNC). Locks are ROOT's, so that both mounts have the same.
 * With LAZY_WRITES in the environment what is written leaves the node when its file is closed or
 * synced, and no earlier; an error of it is told then.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { KEPT_SECONDS = 600 };

/* Below ROOT's descriptor: what stands behind the slash. */
static int root_fd;
static int writes_late;
static const char* below(const char* path) {
  return path[1] == '\0' ? "." : path + 1;
}
static int told(long result) {
  return result < 0 ? -errno : (int)result;
}
static int done(long result) {
  return result < 0 ? -errno : 0;
}
static int fd_of(const struct fuse_file_info* file) {
  return (int)file->fh;
}

static void* begin(struct fuse_conn_info* connection, struct fuse_config* config) {
  writes_late = getenv("LAZY_WRITES") != NULL;
  if (writes_late) connection->want |= FUSE_CAP_WRITEBACK_CACHE;
  config->attr_timeout = config->entry_timeout = KEPT_SECONDS;
  config->negative_timeout = 0;
  config->use_ino = 1;
  config->hard_remove = 1;
  return NULL;
}
static int look(const char* path, struct stat* to, struct fuse_file_info* file) {
  return done(file != NULL ? fstat(fd_of(file), to)
                           : fstatat(root_fd, below(path), to, AT_SYMLINK_NOFOLLOW));
}
static int list(const char* path, void* to, fuse_fill_dir_t fill, off_t from,
                struct fuse_file_info* file, enum fuse_readdir_flags how) {
  (void)from, (void)file, (void)how;
  const int fd = openat(root_fd, below(path), O_RDONLY | O_DIRECTORY);
  if (fd < 0) return -errno;
  DIR* const folder = fdopendir(fd);
  if (folder == NULL) return -errno;
  for (struct dirent* entry; (entry = readdir(folder)) != NULL;) {
    if (fill(to, entry->d_name, NULL, 0, 0) != 0) break;
  }
  return done(closedir(folder));
}
/* The kernel orders appends itself, and reads what a late write leaves of a page. */
static int opened_with(int flags) {
  flags &= ~O_APPEND;
  return writes_late && (flags & O_ACCMODE) == O_WRONLY ? (flags & ~O_ACCMODE) | O_RDWR : flags;
}
static int open_file(const char* path, struct fuse_file_info* file) {
  const int fd = openat(root_fd, below(path), opened_with(file->flags));
  if (fd < 0) return -errno;
  file->fh = (uint64_t)fd;
  return 0;
}
static int create(const char* path, mode_t mode, struct fuse_file_info* file) {
  const int fd = openat(root_fd, below(path), opened_with(file->flags) | O_CREAT, mode);
  if (fd < 0) return -errno;
  file->fh = (uint64_t)fd;
  return 0;
}
static int read_some(const char* path, char* to, size_t size, off_t at,
                     struct fuse_file_info* file) {
  (void)path;
  return told(pread(fd_of(file), to, size, at));
}
static int write_some(const char* path, const char* from, size_t size, off_t at,
                      struct fuse_file_info* file) {
  (void)path;
  return told(pwrite(fd_of(file), from, size, at));
}
static int cut(const char* path, off_t size, struct fuse_file_info* file) {
  if (file != NULL) return done(ftruncate(fd_of(file), size));
  const int fd = openat(root_fd, below(path), O_WRONLY);
  if (fd < 0) return -errno;
  const int result = done(ftruncate(fd, size));
  close(fd);
  return result;
}
static int sync_file(const char* path, int data_only, struct fuse_file_info* file) {
  (void)path;
  return done(data_only ? fdatasync(fd_of(file)) : fsync(fd_of(file)));
}
static int release(const char* path, struct fuse_file_info* file) {
  (void)path;
  return done(close(fd_of(file)));
}
static int lock(const char* path, struct fuse_file_info* file, int how) {
  (void)path;
  return done(flock(fd_of(file), how));
}
static int make_folder(const char* path, mode_t mode) {
  return done(mkdirat(root_fd, below(path), mode));
}
static int remove_name(const char* path) {
  return done(unlinkat(root_fd, below(path), 0));
}
static int remove_folder(const char* path) {
  return done(unlinkat(root_fd, below(path), AT_REMOVEDIR));
}
static int rename_it(const char* from, const char* to, unsigned flags) {
  return done(renameat2(root_fd, below(from), root_fd, below(to), flags));
}
static int set_mode(const char* path, mode_t mode, struct fuse_file_info* file) {
  return done(file != NULL ? fchmod(fd_of(file), mode) : fchmodat(root_fd, below(path), mode, 0));
}
static int set_owner(const char* path, uid_t user, gid_t group, struct fuse_file_info* file) {
  (void)file;
  return done(fchownat(root_fd, below(path), user, group, AT_SYMLINK_NOFOLLOW));
}
static int set_times(const char* path, const struct timespec times[2],
                     struct fuse_file_info* file) {
  return done(file != NULL ? futimens(fd_of(file), times)
                           : utimensat(root_fd, below(path), times, AT_SYMLINK_NOFOLLOW));
}
static int room(const char* path, struct statvfs* to) {
  (void)path;
  return done(fstatvfs(root_fd, to));
}

int main(int argc, char** argv) {
  if (argc < 3 || (root_fd = open(argv[1], O_RDONLY | O_DIRECTORY)) < 0) {
    fprintf(stderr, "usage: lazy_mount ROOT POINT [FUSE'S OPTIONS]\n");
    return 2;
  }
  argv[1] = argv[0];
  static const struct fuse_operations operations = {
      .init = begin,
      .getattr = look,
      .readdir = list,
      .open = open_file,
      .create = create,
      .read = read_some,
      .write = write_some,
      .truncate = cut,
      .fsync = sync_file,
      .release = release,
      .flock = lock,
      .mkdir = make_folder,
      .unlink = remove_name,
      .rmdir = remove_folder,
      .rename = rename_it,
      .chmod = set_mode,
      .chown = set_owner,
      .utimens = set_times,
      .statfs = room,
  };
  umask(0);
  return fuse_main(argc - 1, argv + 1, &operations, NULL);
}
