/* A home whose server takes its time: passes everything on to ROOT, each request after as many
 * milliseconds as the file DELAY says. "never": requests are taken, and not answered any more.
 * Usage: slow_home ROOT DELAY FUSE-ARGUMENTS… */
#define _GNU_SOURCE
#define FUSE_USE_VERSION 31
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int root;
static const char* delay;
static int log_file = -1;

static const char* below(const char* path) {
  return path[1] == '\0' ? "." : path + 1;
}

/* Waits as DELAY says now, and counts the request there. */
static void wait_for_server(const char* what, const char* path) {
  dprintf(log_file, "%s %s\n", what, path);
  char text[16] = "";
  int fd = open(delay, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || read(fd, text, sizeof text - 1) < 0) abort();
  close(fd);
  while (strncmp(text, "never", 5) == 0) pause();
  const long ms = atol(text);
  const struct timespec wait = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&wait, NULL);
}

#define ANSWER(call)                 \
  do {                               \
    wait_for_server(__func__, path); \
    return (call) < 0 ? -errno : 0;  \
  } while (0)

static int do_getattr(const char* path, struct stat* to, struct fuse_file_info* file) {
  (void)file;
  ANSWER(fstatat(root, below(path), to, AT_SYMLINK_NOFOLLOW));
}
static int do_readlink(const char* path, char* to, size_t bytes) {
  wait_for_server(__func__, path);
  const ssize_t length = readlinkat(root, below(path), to, bytes - 1);
  if (length < 0) return -errno;
  to[length] = '\0';
  return 0;
}
static int do_mkdir(const char* path, mode_t mode) {
  ANSWER(mkdirat(root, below(path), mode));
}
static int do_unlink(const char* path) {
  ANSWER(unlinkat(root, below(path), 0));
}
static int do_rmdir(const char* path) {
  ANSWER(unlinkat(root, below(path), AT_REMOVEDIR));
}
static int do_symlink(const char* content, const char* path) {
  ANSWER(symlinkat(content, root, below(path)));
}
static int do_rename(const char* path, const char* to, unsigned flags) {
  ANSWER(renameat2(root, below(path), root, below(to), flags));
}
static int do_link(const char* path, const char* to) {
  ANSWER(linkat(root, below(path), root, below(to), 0));
}
static int do_chmod(const char* path, mode_t mode, struct fuse_file_info* file) {
  (void)file;
  ANSWER(fchmodat(root, below(path), mode, 0));
}
static int do_truncate(const char* path, off_t bytes, struct fuse_file_info* file) {
  wait_for_server(__func__, path);
  if (file != NULL) return ftruncate((int)file->fh, bytes) < 0 ? -errno : 0;
  const int fd = openat(root, below(path), O_WRONLY | O_CLOEXEC);
  const int done = fd < 0 ? -1 : ftruncate(fd, bytes);
  const int error = errno;
  if (fd >= 0) close(fd);
  return done < 0 ? -error : 0;
}
static int open_at(const char* what, const char* path, int flags, mode_t mode,
                   struct fuse_file_info* file) {
  wait_for_server(what, path);
  const int fd = openat(root, below(path), flags | O_CLOEXEC, mode);
  if (fd < 0) return -errno;
  file->fh = (uint64_t)fd;
  return 0;
}
static int do_open(const char* path, struct fuse_file_info* file) {
  return open_at(__func__, path, file->flags & ~O_APPEND, 0, file);
}
static int do_create(const char* path, mode_t mode, struct fuse_file_info* file) {
  return open_at(__func__, path, file->flags | O_CREAT, mode, file);
}
static int do_read(const char* path, char* to, size_t bytes, off_t at,
                   struct fuse_file_info* file) {
  wait_for_server(__func__, path);
  const ssize_t got = pread((int)file->fh, to, bytes, at);
  return got < 0 ? -errno : (int)got;
}
static int do_write(const char* path, const char* from, size_t bytes, off_t at,
                    struct fuse_file_info* file) {
  wait_for_server(__func__, path);
  const ssize_t done = pwrite((int)file->fh, from, bytes, at);
  return done < 0 ? -errno : (int)done;
}
static int do_release(const char* path, struct fuse_file_info* file) {
  (void)path;
  return close((int)file->fh);
}
static int do_fsync(const char* path, int data, struct fuse_file_info* file) {
  (void)data;
  ANSWER(fsync((int)file->fh));
}
static int do_utimens(const char* path, const struct timespec* times, struct fuse_file_info* file) {
  (void)file;
  ANSWER(utimensat(root, below(path), times, AT_SYMLINK_NOFOLLOW));
}
static int do_readdir(const char* path, void* to, fuse_fill_dir_t fill, off_t at,
                      struct fuse_file_info* file, enum fuse_readdir_flags flags) {
  (void)at, (void)file, (void)flags;
  wait_for_server(__func__, path);
  const int fd = openat(root, below(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* folder = fd < 0 ? NULL : fdopendir(fd);
  if (folder == NULL) return -errno;
  for (struct dirent* entry; (entry = readdir(folder)) != NULL;) {
    fill(to, entry->d_name, NULL, 0, 0);
  }
  closedir(folder);
  return 0;
}

/* A file of two names is one file, and what was asked is believed for 3 s, as of an NFS server. */
static void* do_init(struct fuse_conn_info* connection, struct fuse_config* config) {
  (void)connection;
  config->use_ino = 1;
  config->attr_timeout = config->entry_timeout = 3;
  return NULL;
}

int main(int count, char** words) {
  if (count < 4) return 2;
  root = open(words[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  delay = words[2];
  char log_path[4096];
  snprintf(log_path, sizeof log_path, "%s.requests", delay);
  log_file = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (root < 0 || log_file < 0) return 2;
  words[2] = words[0];
  const struct fuse_operations operations = {.init = do_init,
                                             .getattr = do_getattr,
                                             .readlink = do_readlink,
                                             .mkdir = do_mkdir,
                                             .unlink = do_unlink,
                                             .rmdir = do_rmdir,
                                             .symlink = do_symlink,
                                             .rename = do_rename,
                                             .link = do_link,
                                             .chmod = do_chmod,
                                             .truncate = do_truncate,
                                             .open = do_open,
                                             .create = do_create,
                                             .read = do_read,
                                             .write = do_write,
                                             .release = do_release,
                                             .fsync = do_fsync,
                                             .utimens = do_utimens,
                                             .readdir = do_readdir};
  return fuse_main(count - 2, words + 2, &operations, NULL);
}
