/* Known POSIX calls on the file argv[1]; then it ends in the way that argv[2] names.
 * Prints "calls N" before the end: what a trace has to hold. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(condition)                                           \
  do {                                                            \
    if (!(condition)) {                                           \
      fprintf(stderr, "line %d: %s: %m\n", __LINE__, #condition); \
      _exit(99);                                                  \
    }                                                             \
  } while (0)

static const char* path;

static void plain(void) {
  char buffer[4096];
  memset(buffer, 'a', sizeof buffer);
  int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0640);
  MUST(fd >= 0);
  for (int i = 0; i < 100; ++i) MUST(pwrite(fd, buffer, 64, 1000 + 256 * (off_t)i) == 64);
  for (int i = 0; i < 100; ++i) MUST(pread(fd, buffer, 32, 1000 + 512 * (off_t)i) >= 0);
  MUST(lseek(fd, 17, SEEK_SET) == 17);
  MUST(write(fd, buffer, 10) == 10);
  MUST(read(fd, buffer, 20) == 20);
  MUST(lseek(fd, 0, SEEK_CUR) == 47);
  struct iovec parts[2] = {{buffer, 5}, {buffer + 5, 6}};
  MUST(writev(fd, parts, 2) == 11);
  MUST(readv(fd, parts, 2) == 11);
  MUST(pwritev(fd, parts, 2, 300) == 11);
  MUST(preadv(fd, parts, 2, 301) == 11);
  int copy = dup(fd);
  MUST(copy >= 0);
  MUST(write(copy, buffer, 3) == 3);
  MUST(ftruncate(fd, 12345) == 0);
  MUST(fsync(fd) == 0 && fdatasync(copy) == 0);
  MUST(close(copy) == 0 && close(fd) == 0);
  fd = open(path, O_WRONLY | O_APPEND);
  MUST(fd >= 0);
  MUST(write(fd, buffer, 7) == 7);
  MUST(write(fd, buffer, 9) == 9);
  MUST(close(fd) == 0);
}

/* Nothing of iotune's may show in errno, whatever it did itself. */
static void errors(void) {
  char byte = 0;
  errno = 0;
  MUST(open("/nonexistent-folder/file", O_RDONLY) == -1 && errno == ENOENT);
  errno = 0;
  MUST(close(987) == -1 && errno == EBADF);
  errno = 0;
  MUST(pread(987, &byte, 1, 0) == -1 && errno == EBADF);
  errno = 0;
  MUST(lseek(987, 0, SEEK_SET) == -1 && errno == EBADF);
  errno = 0;
  MUST(dup(987) == -1 && errno == EBADF);
  int fd = open(path, O_RDONLY | O_CREAT, 0600);
  MUST(fd >= 0);
  errno = 0;
  MUST(write(fd, &byte, 1) == -1 && errno == EBADF);
  errno = 0;
  MUST(pread(fd, &byte, 1, -1) == -1 && errno == EINVAL);
  /* A success leaves errno as it was. */
  errno = 1234;
  MUST(pread(fd, &byte, 1, 0) >= 0 && errno == 1234);
  MUST(lseek(fd, 0, SEEK_SET) == 0 && errno == 1234);
  MUST(close(fd) == 0 && errno == 1234);
  errno = 4321;
  fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  MUST(fd >= 0 && errno == 4321);
  for (int i = 0; i < 20000; ++i) MUST(pwrite(fd, &byte, 1, (i * 7919) % 100003) == 1);
  MUST(errno == 4321);
}

enum { kThreads = 3, kPerThread = 3000 };
static void* in_thread(void* number) {
  int me = (int)(long)number;
  char name[4096];
  snprintf(name, sizeof name, "%s.%d", path, me);
  int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  MUST(fd >= 0);
  for (int i = 0; i < kPerThread; ++i) MUST(pwrite(fd, name, 1 + me, 10 * (off_t)i) == 1 + me);
  MUST(close(fd) == 0);
  return NULL;
}
static void threads(void) {
  pthread_t thread[kThreads];
  for (long i = 0; i < kThreads; ++i)
    MUST(pthread_create(&thread[i], NULL, in_thread, (void*)i) == 0);
  for (int i = 0; i < kThreads; ++i) MUST(pthread_join(thread[i], NULL) == 0);
}

static int many_writes(int count) {
  char byte = 'x';
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  MUST(fd >= 0);
  /* Irregular, so that no encoder makes one record of them. */
  unsigned at = 12345;
  for (int i = 0; i < count; ++i) {
    at = at * 1103515245u + 12345u;
    MUST(pwrite(fd, &byte, 1, (off_t)(at % 1000003u)) == 1);
  }
  return fd;
}

int main(int argc, char** argv) {
  MUST(argc >= 3);
  path = argv[1];
  const char* how = argv[2];
  if (strcmp(how, "plain") == 0) {
    plain();
    return 0;
  }
  if (strcmp(how, "errors") == 0) {
    errors();
    return 0;
  }
  if (strcmp(how, "threads") == 0) {
    threads();
    return 0;
  }
  if (strcmp(how, "again") == 0) { /* what exec below starts */
    char byte = 'y';
    int fd = open(path, O_WRONLY);
    MUST(fd >= 0 && pwrite(fd, &byte, 1, 77) == 1 && close(fd) == 0);
    return 0;
  }
  int fd = many_writes(argc > 3 ? atoi(argv[3]) : 5000);
  if (strcmp(how, "fork") == 0) {
    char byte = 'c';
    pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) {
      MUST(pwrite(fd, &byte, 1, 5) == 1 && pwrite(fd, &byte, 1, 7) == 1 && close(fd) == 0);
      _exit(0);
    }
    int status = 0;
    MUST(waitpid(child, &status, 0) == child && status == 0);
    MUST(pwrite(fd, &byte, 1, 9) == 1 && close(fd) == 0);
    return 0;
  }
  if (strcmp(how, "_exit") == 0) _exit(3);
  if (strcmp(how, "quick_exit") == 0) quick_exit(4);
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "kill") == 0) raise(SIGKILL);
  if (strcmp(how, "term") == 0) raise(SIGTERM);
  if (strcmp(how, "segv") == 0) raise(SIGSEGV);
  if (strcmp(how, "exec") == 0) {
    execl("/proc/self/exe", argv[0], path, "again", (char*)NULL);
    _exit(98);
  }
  if (strcmp(how, "exit") == 0) exit(5);
  return 97;
}
