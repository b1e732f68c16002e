/* posix_random FOLDER SEED: each POSIX and stdio call of the table with random arguments, on files
 * below the folder. Prints what a trace has to hold of each: name, numbers, result, then " | " and
 * the paths. */
#define _GNU_SOURCE
#include <aio.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#define MUST(condition)                                           \
  do {                                                            \
    if (!(condition)) {                                           \
      fprintf(stderr, "line %d: %s: %m\n", __LINE__, #condition); \
      exit(99);                                                   \
    }                                                             \
  } while (0)

static uint64_t state;
static long below(long n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (long)((state >> 33) % (uint64_t)n);
}

static char folder[3000];
static char* in_folder(const char* name) {
  char* path;
  MUST(asprintf(&path, "%s/%s", folder, name) > 0);
  return path;
}

/* Printed at the end: stdout is no file of the test, but writing it goes through wrappers. */
static char said[1 << 20];
static size_t said_bytes;
static void say(const char* name, const char* path, const char* second, int count,
                const long* numbers) {
  char* to = said + said_bytes;
  size_t room = sizeof said - said_bytes, used = 0;
  used += (size_t)snprintf(to + used, room - used, "%s", name);
  for (int i = 0; i < count; ++i) {
    used += (size_t)snprintf(to + used, room - used, " %ld", numbers[i]);
  }
  if (path != NULL) used += (size_t)snprintf(to + used, room - used, " | %s", path);
  if (second != NULL) used += (size_t)snprintf(to + used, room - used, " | %s", second);
  used += (size_t)snprintf(to + used, room - used, "\n");
  MUST(used < room);
  said_bytes += used;
}
#define SAY(name, path, second, ...)                                             \
  do {                                                                           \
    const long numbers[] = {__VA_ARGS__};                                        \
    say(name, path, second, (int)(sizeof numbers / sizeof numbers[0]), numbers); \
  } while (0)
/* The call, its path and what is recorded before the result. */
#define PATH(name, call, path) \
  do {                         \
    const long r = (call);     \
    SAY(name, path, NULL, r);  \
  } while (0)
#define PATH_1(name, call, path, a)      \
  do {                                   \
    const long r = (call);               \
    SAY(name, path, NULL, (long)(a), r); \
  } while (0)
#define PATH_N(name, call, path, ...)      \
  do {                                     \
    const long r = (call);                 \
    SAY(name, path, NULL, __VA_ARGS__, r); \
  } while (0)
#define TWO(name, call, path, second) \
  do {                                \
    const long r = (call);            \
    SAY(name, path, second, r);       \
  } while (0)
#define TWO_N(name, call, path, second, ...) \
  do {                                       \
    const long r = (call);                   \
    SAY(name, path, second, __VA_ARGS__, r); \
  } while (0)
#define ON(name, call, ...)                \
  do {                                     \
    const long r = (call);                 \
    SAY(name, NULL, NULL, __VA_ARGS__, r); \
  } while (0)
#define ON_0(name, call)      \
  do {                        \
    const long r = (call);    \
    SAY(name, NULL, NULL, r); \
  } while (0)

static int make(const char* path) {
  const int mode = (int)(0600 | below(0100));
  const int flags = O_RDWR | O_CREAT;
  const int fd = open(path, flags, mode);
  MUST(fd >= 0);
  SAY("open", path, NULL, flags, mode, fd);
  return fd;
}
static void shut(int fd) {
  ON_0("close", close(fd));
}

static void names_and_times(int directory) {
  struct stat status;
  struct statx more;
  char* const one = in_folder("one");
  char* const two = in_folder("two");
  char* const sub = in_folder("sub");
  shut(make(one));
  PATH("stat", stat(one, &status), one);
  PATH("lstat", lstat(one, &status), one);
  PATH_N("fstatat", fstatat(directory, "one", &status, AT_SYMLINK_NOFOLLOW), one, directory,
         AT_SYMLINK_NOFOLLOW);
  PATH_N("statx", statx(directory, "one", 0, STATX_SIZE, &more), one, directory, 0, STATX_SIZE);
  const int how = (int)below(8);
  PATH_1("access", access(one, how), one, how);
  PATH_N("faccessat", faccessat(directory, "one", R_OK, 0), one, directory, R_OK, 0);
  const long bytes = below(100000);
  PATH_1("truncate", truncate(one, bytes), one, bytes);
  const int mode = (int)(0600 | below(0100));
  PATH_1("chmod", chmod(one, (mode_t)mode), one, mode);
  PATH_N("fchmodat", fchmodat(directory, "one", (mode_t)mode, 0), one, directory, mode, 0);
  const long user = getuid(), group = getgid();
  PATH_N("chown", chown(one, (uid_t)user, (gid_t)group), one, user, group);
  PATH_N("lchown", lchown(one, (uid_t)user, (gid_t)group), one, user, group);
  PATH_N("fchownat", fchownat(directory, "one", (uid_t)user, (gid_t)group, 0), one, directory, user,
         group, 0);
  const struct utimbuf times = {below(1000000), below(1000000)};
  PATH("utime", utime(one, &times), one);
  const struct timeval both[2] = {{below(1000000), 0}, {below(1000000), 0}};
  PATH("utimes", utimes(one, both), one);
  PATH_N("utimensat", utimensat(directory, "one", NULL, 0), one, directory, 0);
  TWO("link", link(one, two), one, two);
  PATH("unlink", unlink(two), two);
  TWO_N("linkat", linkat(directory, "one", directory, "two", 0), one, two, directory, directory, 0);
  PATH_N("unlinkat", unlinkat(directory, "two", 0), two, directory, 0);
  TWO("rename", rename(one, two), one, two);
  TWO_N("renameat", renameat(directory, "two", directory, "one"), two, one, directory, directory);
  TWO_N("renameat2", renameat2(directory, "one", directory, "two", RENAME_NOREPLACE), one, two,
        directory, directory, RENAME_NOREPLACE);
  TWO("symlink", symlink("somewhere", one), "somewhere", one);
  char target[64];
  const size_t room = (size_t)(10 + below(50));
  PATH_1("readlink", readlink(one, target, room), one, room);
  PATH_N("readlinkat", readlinkat(directory, "one", target, room), one, directory, (long)room);
  PATH("remove", remove(one), one);
  TWO_N("symlinkat", symlinkat("../else", directory, "one"), "../else", one, directory);
  PATH("remove", remove(one), one);
  PATH_1("mkdir", mkdir(sub, 0700), sub, 0700);
  PATH("rmdir", rmdir(sub), sub);
  PATH_N("mkdirat", mkdirat(directory, "sub", 0755), sub, directory, 0755);
  PATH("chdir", chdir(sub), sub);
  PATH("chdir", chdir("/"), "/");
  PATH("rmdir", rmdir(sub), sub);
  PATH_1("mkfifo", mkfifo(sub, 0600), sub, 0600);
  PATH("unlink", unlink(sub), sub);
  PATH_N("mknod", mknod(sub, S_IFREG | 0600, 0), sub, S_IFREG | 0600, 0);
  PATH("unlink", unlink(sub), sub);
  PATH_N("mknodat", mknodat(directory, "sub", S_IFIFO | 0600, 0), sub, directory, S_IFIFO | 0600,
         0);
  PATH("unlink", unlink(sub), sub);
  /* What is not there. */
  PATH("stat", stat(sub, &status), sub);
  PATH("unlink", unlink(sub), sub);
}

static void on_descriptors(void) {
  char* const path = in_folder("data");
  struct stat status;
  char buffer[5000] = {0};
  const int fd = make(path);
  ON_0("fstat", fstat(fd, &status));
  const long bytes = 20000 + below(5000);
  ON("fallocate", fallocate(fd, 0, 0, bytes), 0, 0, bytes);
  ON("posix_fallocate", posix_fallocate(fd, 10, bytes), 10, bytes);
  ON("posix_fadvise", posix_fadvise(fd, 100, bytes, POSIX_FADV_SEQUENTIAL), 100, bytes,
     POSIX_FADV_SEQUENTIAL);
  ON("readahead", readahead(fd, 0, (size_t)bytes), 0, bytes);
  ON("sync_file_range", sync_file_range(fd, 0, bytes, SYNC_FILE_RANGE_WRITE), 0, bytes,
     SYNC_FILE_RANGE_WRITE);
  ON("flock", flock(fd, LOCK_SH), LOCK_SH);
  ON("flock", flock(fd, LOCK_UN), LOCK_UN);
  const int mode = (int)(0600 | below(0100));
  ON("fchmod", fchmod(fd, (mode_t)mode), mode);
  ON("fchown", fchown(fd, getuid(), getgid()), (long)getuid(), (long)getgid());
  ON_0("futimens", futimens(fd, NULL));
  ON("ftruncate", ftruncate(fd, bytes), bytes);
  ON_0("fsync", fsync(fd));
  ON_0("fdatasync", fdatasync(fd));
  ON_0("syncfs", syncfs(fd));

  const long at = below(10000), size = 1 + below(4000);
  ON("pwrite", pwrite(fd, buffer, (size_t)size, at), size, at);
  ON("pread", pread(fd, buffer, (size_t)size, at), size, at);
  ON("lseek", lseek(fd, at, SEEK_SET), at, SEEK_SET);
  long moved = write(fd, buffer, (size_t)size);
  SAY("write", NULL, NULL, size, moved, at);
  moved = read(fd, buffer, (size_t)size);
  SAY("read", NULL, NULL, size, moved, at + size);
  const struct iovec parts[2] = {{buffer, (size_t)size}, {buffer, 7}};
  ON("pwritev", pwritev(fd, parts, 2, at), 2, at);
  ON("preadv", preadv(fd, parts, 2, at), 2, at);
  ON("lseek", lseek(fd, 0, SEEK_SET), 0, SEEK_SET);
  moved = writev(fd, parts, 2);
  SAY("writev", NULL, NULL, 2, moved, 0);
  moved = readv(fd, parts, 2);
  SAY("readv", NULL, NULL, 2, moved, size + 7);
  moved = pwritev2(fd, parts, 2, at, RWF_DSYNC);
  SAY("pwritev2", NULL, NULL, 2, at, RWF_DSYNC, moved, at);
  moved = preadv2(fd, parts, 2, -1, 0);
  SAY("preadv2", NULL, NULL, 2, -1, 0, moved, 2 * size + 14);

  const int copy = dup(fd);
  SAY("dup", NULL, NULL, copy);
  ON("dup2", dup2(fd, copy), copy);
  ON("dup3", dup3(fd, copy, O_CLOEXEC), copy, O_CLOEXEC);
  shut(copy);
  const int least = 40 + (int)below(20);
  const int other = fcntl(fd, F_DUPFD, least);
  SAY("fcntl", NULL, NULL, F_DUPFD, least, other);
  shut(other);

  void* const memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);
  /* A logged file has no shared maps. */
  if (memory == MAP_FAILED && errno == ENODEV) {
    shut(fd);
    return;
  }
  MUST(memory != MAP_FAILED);
  SAY("mmap", NULL, NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, 4096, (long)memory);
  ON("msync", msync(memory, 4096, MS_SYNC), (long)memory, 4096, MS_SYNC);
  ON("munmap", munmap(memory, 8192), (long)memory, 8192);
  shut(fd);
}

static void between(void) {
  const int from = make(in_folder("data")), to = make(in_folder("copy"));
  off_t in = below(1000), out = below(1000);
  const off_t in_asked = in, out_asked = out;
  const size_t count = (size_t)(1 + below(3000));
  long moved = copy_file_range(from, &in, to, &out, count, 0);
  SAY("copy_file_range", NULL, NULL, to, (long)count, 0, moved, in_asked);
  SAY("copy_file_range_write", NULL, NULL, from, (long)count, 0, moved, out_asked);
  moved = copy_file_range(from, NULL, to, NULL, count, 0);
  SAY("copy_file_range", NULL, NULL, to, (long)count, 0, moved, 0);
  SAY("copy_file_range_write", NULL, NULL, from, (long)count, 0, moved, 0);
  in = in_asked;
  const long before = lseek(to, 0, SEEK_CUR);
  SAY("lseek", NULL, NULL, 0, SEEK_CUR, before);
  moved = sendfile(to, from, &in, count);
  SAY("sendfile", NULL, NULL, to, (long)count, 0, moved, in_asked);
  SAY("sendfile_write", NULL, NULL, from, (long)count, 0, moved, before);
  const long after = lseek(to, 0, SEEK_CUR);
  SAY("lseek", NULL, NULL, 0, SEEK_CUR, after);
  /* An offset that cannot be read is the kernel's to refuse. */
  moved = sendfile(to, from, (off_t*)8, count);
  MUST(moved == -1 && errno == EFAULT);
  SAY("sendfile", NULL, NULL, to, (long)count, 0, moved, -1);
  SAY("sendfile_write", NULL, NULL, from, (long)count, 0, moved, after);
  int pipes[2];
  MUST(pipe(pipes) == 0);
  SAY("pipe", NULL, NULL, 0, pipes[0], pipes[1]);
  in = in_asked;
  moved = splice(from, &in, pipes[1], NULL, count, 0);
  SAY("splice", NULL, NULL, pipes[1], (long)count, 0, moved, in_asked);
  out = out_asked;
  moved = splice(pipes[0], NULL, to, &out, (size_t)moved, SPLICE_F_MOVE);
  SAY("splice_write", NULL, NULL, pipes[0], moved, SPLICE_F_MOVE, moved, out_asked);
  MUST(close(pipes[0]) == 0 && close(pipes[1]) == 0);
  shut(from);
  shut(to);
}

static void wait_for(struct aiocb* request) {
  const struct aiocb* const list[1] = {request};
  while (aio_error(request) == EINPROGRESS) MUST(aio_suspend(list, 1, NULL) == 0);
  ON("aio_return", aio_return(request), (long)request->aio_nbytes, request->aio_offset);
}

static void in_background(void) {
  static char buffer[4096];
  const int fd = make(in_folder("data"));
  struct aiocb request = {.aio_fildes = fd,
                          .aio_buf = buffer,
                          .aio_nbytes = (size_t)(1 + below(4000)),
                          .aio_offset = below(9000)};
  ON("aio_write", aio_write(&request), (long)request.aio_nbytes, request.aio_offset);
  wait_for(&request);
  request.aio_offset = below(5000);
  ON("aio_read", aio_read(&request), (long)request.aio_nbytes, request.aio_offset);
  wait_for(&request);
  struct aiocb second = request;
  second.aio_lio_opcode = LIO_WRITE;
  second.aio_offset = below(5000);
  request.aio_lio_opcode = LIO_READ;
  struct aiocb* const list[3] = {&request, NULL, &second};
  const int result = lio_listio(LIO_WAIT, list, 3, NULL);
  SAY("aio_read", NULL, NULL, (long)request.aio_nbytes, request.aio_offset, result);
  SAY("aio_write", NULL, NULL, (long)second.aio_nbytes, second.aio_offset, result);
  wait_for(&request);
  wait_for(&second);
  struct aiocb sync = {.aio_fildes = fd};
  ON("aio_fsync", aio_fsync(O_SYNC, &sync), O_SYNC);
  while (aio_error(&sync) == EINPROGRESS) {
  }
  ON("aio_return", aio_return(&sync), 0, 0);
  shut(fd);
}

/* Names that libc makes: the trace has the one that was made. */
static void temporary(void) {
  char* const first = in_folder("XXXXXX");
  const int one = mkstemp(first);
  SAY("mkstemp", first, NULL, one);
  shut(one);
  char* const second = in_folder("XXXXXX");
  const int two = mkostemp(second, O_CLOEXEC | O_APPEND);
  SAY("mkostemp", second, NULL, O_CLOEXEC | O_APPEND, two);
  const long size = 1 + below(50);
  const long moved = write(two, second, (size_t)size);
  SAY("write", NULL, NULL, size, moved, 0);
  shut(two);
  char* const third = in_folder("XXXXXX.dat");
  const int three = mkstemps(third, 4);
  SAY("mkstemps", third, NULL, 4, three);
  shut(three);
  char* const fourth = in_folder("XXXXXX.data");
  const int four = mkostemps(fourth, 5, O_CLOEXEC);
  SAY("mkostemps", fourth, NULL, 5, O_CLOEXEC, four);
  shut(four);
  /* Nothing to fill in. */
  char* const wrong = in_folder("no place holders");
  const int none = mkstemp(wrong);
  SAY("mkstemp", wrong, NULL, none);
  for (char* const* name = (char*[]){first, second, third, fourth, NULL}; *name; ++name) {
    PATH("unlink", unlink(*name), *name);
  }
}

static void in_directories(void) {
  DIR* const stream = opendir(folder);
  MUST(stream != NULL);
  SAY("opendir", folder, NULL, dirfd(stream));
  for (long entries = 1 + below(3); entries > 0; --entries) {
    ON_0("readdir", readdir(stream) != NULL);
  }
  rewinddir(stream);
  SAY("rewinddir", NULL, NULL, 0);
  long more;
  do {
    more = readdir64(stream) != NULL;
    SAY("readdir", NULL, NULL, more);
  } while (more);
  ON_0("closedir", closedir(stream));
  char* const none = in_folder("no such");
  MUST(opendir(none) == NULL && errno == ENOENT);
  SAY("opendir", none, NULL, -1);
}

static void of_the_process(void) {
  char here[4096];
  const long size = 4000 + below(90);
  MUST(getcwd(here, (size_t)size) == here);
  SAY("getcwd", here, NULL, size, 0);
  MUST(getcwd(here, 1) == NULL && errno == ERANGE);
  SAY("getcwd", "", NULL, 1, -1);
  const long mask = below(0100);
  const long before = umask((mode_t)mask);
  SAY("umask", NULL, NULL, mask, before);
  ON("umask", umask((mode_t)before), before);
  int ends[2];
  MUST(pipe2(ends, O_CLOEXEC) == 0);
  SAY("pipe2", NULL, NULL, O_CLOEXEC, 0, ends[0], ends[1]);
  MUST(close(ends[0]) == 0 && close(ends[1]) == 0);
}

int main(int argc, char** argv) {
  MUST(argc == 3 && strlen(argv[1]) < sizeof folder);
  strcpy(folder, argv[1]);
  state = (uint64_t)atol(argv[2]);
  const int directory = open(folder, O_RDONLY | O_DIRECTORY);
  MUST(directory >= 0);
  char* const created = in_folder("created");
  const int fd = creat(created, 0640);
  MUST(fd >= 0);
  SAY("creat", created, NULL, 0640, fd);
  shut(fd);
  const int opened = openat(directory, "created", O_RDWR | O_APPEND);
  MUST(opened >= 0);
  SAY("openat", created, NULL, directory, O_RDWR | O_APPEND, 0, opened);
  shut(opened);
  for (int round = 0; round < 3; ++round) {
    names_and_times(directory);
    on_descriptors();
    between();
    in_background();
    temporary();
    in_directories();
    of_the_process();
    PATH("unlink", unlink(in_folder("data")), in_folder("data"));
    PATH("unlink", unlink(in_folder("two")), in_folder("two"));
  }
  fwrite(said, 1, said_bytes, stdout);
  return 0;
}
