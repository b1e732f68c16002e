// small_stack CALL: the first traced call of the process is made by a signal handler on a stack of
// SIGSTKSZ. Says how deep it went, and whether below the stack's end.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { kStack = 8192, kBelow = 1 << 20, kMany = 20000 };

static const char* call;
static int opened = -1, failed;
static char block[64] = "sixty-four bytes";

static int is(const char* name) {
  return strcmp(call, name) == 0;
}
static void check(int good) {
  failed |= !good;
}

static void handler(int signal) {
  (void)signal;
  struct stat status;
  struct iovec part = {block, sizeof block};
  if (is("open")) {
    const int fd = open("dump", O_CREAT | O_WRONLY | O_TRUNC, 0600);
    check(write(fd, block, 5) == 5);
    check(close(fd) == 0);
  } else if (is("long-name")) {
    char name[251];
    memset(name, 'n', 250);
    name[250] = 0;
    const int fd = openat(AT_FDCWD, name, O_CREAT | O_RDWR, 0600);
    check(write(fd, block, 5) == 5 && lseek(fd, 0, SEEK_SET) == 0 && read(fd, block, 5) == 5);
    check(close(fd) == 0);
  } else if (is("creat")) {
    check(close(creat("dump", 0600)) == 0);
  } else if (is("names")) {
    check(mkdir("d", 0700) == 0 && rename("d", "e") == 0 && rmdir("e") == 0);
    check(stat(".", &status) == 0 && access(".", R_OK) == 0);
    check(symlink("nowhere", "l") == 0 && unlink("l") == 0);
  } else if (is("descriptors")) {
    const int again = dup(opened);
    check(dup2(opened, again) == again && fcntl(opened, F_DUPFD, 100) >= 100);
    check(ftruncate(opened, 100) == 0 && fsync(again) == 0 && fdatasync(again) == 0);
    check(fstat(again, &status) == 0 && close(again) == 0);
  } else if (is("vectors")) {
    check(pwritev(opened, &part, 1, 10) == 64 && preadv(opened, &part, 1, 10) == 64);
    check(writev(opened, &part, 1) == 64 && lseek(opened, 0, SEEK_SET) == 0);
    check(readv(opened, &part, 1) == 64);
  } else if (is("many")) {
    // More than a ring holds, in no order.
    unsigned state = 1;
    const int fd = open("dump", O_CREAT | O_WRONLY | O_TRUNC, 0600);
    for (int i = 0; i < kMany; i++) {
      state = state * 1664525u + 1013904223u;
      check(pwrite(fd, block, 1 + state % 64, (off_t)(state >> 12)) > 0);
    }
  }
}

int main(int count, char** arguments) {
  call = count > 1 ? arguments[1] : "";
  if (is("descriptors") || is("vectors")) opened = open("given", O_CREAT | O_RDWR | O_TRUNC, 0600);
  char* const memory =
      mmap(NULL, kBelow + kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(memory, 0x5a, kBelow + kStack);
  const stack_t stack = {.ss_sp = memory + kBelow, .ss_size = kStack};
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
  if (sigaltstack(&stack, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0) return 2;
  raise(SIGUSR1);
  size_t untouched = 0;
  while (memory[untouched] == 0x5a) untouched++;
  printf("%zu %d\n", kBelow + kStack - untouched, failed);
  return 0;
}
