/* own_thread_block FILE CALLS BYTE: writes 5 bytes, then makes a child by clone whose block of
 * thread-local variables is nothing but BYTE below it and zeros above, as sandboxes of browsers do.
 * The child makes one kind of CALLS and ends; then 5 more bytes. Says how the child ended. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kStack = 1 << 18, kBlock = 1 << 15 };

static const char *g_file, *g_calls;
static int g_fd;

static int is(const char* calls) {
  return strcmp(g_calls, calls) == 0;
}

static int child(void* unused) {
  (void)unused;
  char bytes[8] = "child";
  struct stat about;
  struct iovec part = {bytes, 5};
  const struct rlimit few = {10, 10};
  int right = 1;
  if (is("places")) right = chdir("/") == 0 && chdir("/none") != 0;
  if (is("root")) right = chroot("/none") != 0;
  if (is("transfers")) {
    right = pwrite(g_fd, bytes, 5, 20) == 5 && pread(g_fd, bytes, 5, 20) == 5 &&
            writev(g_fd, &part, 1) == 5 && lseek(g_fd, 5, SEEK_SET) == 5 && fsync(g_fd) == 0;
  }
  if (is("files")) {
    const int fd = open(g_file, O_RDONLY);
    right = fd >= 0 && read(fd, bytes, 5) == 5 && fstat(fd, &about) == 0 && close(fd) == 0 &&
            open("/none/x", O_RDONLY) < 0 && stat(g_file, &about) == 0 && unlink("/none/x") != 0;
  }
  if (is("rights")) {
    right = setuid(getuid()) == 0 && setrlimit(RLIMIT_NOFILE, &few) == 0 &&
            syscall(SYS_chroot, "/none") != 0 && unshare(0) == 0;
  }
  if (is("memory")) {
    void* const mapped = mmap(NULL, 4096, PROT_READ, MAP_SHARED, g_fd, 0);
    right = mapped != MAP_FAILED && munmap(mapped, 4096) == 0;
  }
  if (is("exec")) execl("/bin/true", "true", (char*)NULL);
  if (is("exec")) right = 0;
  _exit(right ? 0 : 3);
}

int main(int argc, char** argv) {
  static char stack[kStack] __attribute__((aligned(64)));
  static char block[2 * kBlock] __attribute__((aligned(64)));
  if (argc != 4) return 2;
  g_file = argv[1];
  g_calls = argv[2];
  memset(block, atoi(argv[3]), kBlock);
  g_fd = open(g_file, O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (write(g_fd, "first", 5) != 5) return 2;
  const int sleeps = CLONE_VM | CLONE_VFORK | CLONE_SETTLS | SIGCHLD;
  const int copied = CLONE_SETTLS | SIGCHLD;
  for (int i = 0; i < 2; ++i) {
    int status = 0;
    const int made = clone(child, stack + kStack - 64, i == 0 ? sleeps : copied, NULL, NULL,
                           block + kBlock, NULL);
    if (made < 0 || waitpid(made, &status, 0) != made) return 4;
    printf("%s %d\n", WIFEXITED(status) ? "exit" : "signal",
           WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
  }
  return pwrite(g_fd, "again", 5, 10) != 5;
}
