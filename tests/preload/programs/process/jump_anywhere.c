/* jump_anywhere FILE AT
 *
 * A handler jumps out of read number AT of a sequence after 1, 2, 3, ... instructions of it, until
 * one round comes to the read's end: the parent counts the child's instructions. The sequence goes
 * on behind each jump. Then five writes to FILE.out. Prints how many jumps there were. Status 77:
 * nobody may trace a process here. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(condition)                                                \
  do {                                                                 \
    if (!(condition)) {                                                \
      fprintf(stderr, "jump_anywhere:%d: %s\n", __LINE__, #condition); \
      _exit(9);                                                        \
    }                                                                  \
  } while (0)

static sigjmp_buf back;

static void leave(int number) {
  (void)number;
  siglongjmp(back, 1);
}

/* A loop of one read, one of three, and reads that go on with none. */
enum { kLoop = 8, kTurns = 15, kReads = 30 };
static void read_number(int fd, int i) {
  char bytes[64];
  if (i < kLoop) {
    MUST(pread(fd, bytes, 8, i * 100) == 8);
  } else if (i < kLoop + kTurns) {
    const int turn = i - kLoop;
    MUST(pread(fd, bytes, 4U << turn % 3, turn / 3 * 1000) == 4 << turn % 3);
  } else {
    MUST(pread(fd, bytes, 8, i * i * 7919 % 60000) == 8);
  }
}

static void reads(int fd, int from, int to) {
  for (int i = from; i < to; ++i) read_number(fd, i);
}

static void child(const char* path, int at) {
  const int fd = open(path, O_RDONLY);
  MUST(fd >= 0);
  if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) _exit(77);
  for (int i = 0; i < 20; ++i) reads(fd, 0, kReads); /* the first calls of a kind are over */
  for (volatile int whole = 0; whole == 0;) {
    reads(fd, 0, at);
    if (sigsetjmp(back, 1) == 0) {
      raise(SIGSTOP);
      read_number(fd, at);
      whole = 1;
    }
    reads(fd, at + 1, kReads);
  }
  char out[4096];
  snprintf(out, sizeof out, "%s.out", path);
  const int to = open(out, O_CREAT | O_TRUNC | O_WRONLY, 0600);
  for (int i = 0; i < 5; ++i) MUST(pwrite(to, "x", 1, i * 10 + i * i) == 1);
  MUST(close(to) == 0);
}

/* False: the child has come to its end, or another stop. */
static int step(pid_t pid, long instructions) {
  int status;
  for (long i = 0; i < instructions; ++i) {
    MUST(ptrace(PTRACE_SINGLESTEP, pid, 0, 0) == 0 && waitpid(pid, &status, 0) == pid);
    if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP) return 0;
  }
  return 1;
}

int main(int argc, char** argv) {
  MUST(argc == 3);
  signal(SIGALRM, leave);
  const pid_t pid = fork();
  if (pid == 0) {
    child(argv[1], atoi(argv[2]));
    return 0;
  }
  int status, jumps = 0;
  MUST(waitpid(pid, &status, 0) == pid);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) return 77;
  MUST(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
  for (long at = 1;; ++at, ++jumps) {
    if (!step(pid, at)) break;
    MUST(ptrace(PTRACE_CONT, pid, 0, SIGALRM) == 0 && waitpid(pid, &status, 0) == pid);
    if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGSTOP) break;
  }
  if (WIFSTOPPED(status)) {
    MUST(ptrace(PTRACE_DETACH, pid, 0, 0) == 0 && waitpid(pid, &status, 0) == pid);
  }
  MUST(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  printf("%d jumps\n", jumps);
  return 0;
}
