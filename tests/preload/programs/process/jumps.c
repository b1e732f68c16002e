/* Signal handlers that leave by siglongjmp.
 *   jumps read FIFO FILE     out of a read that waits, three times; then five writes
 *   jumps timer FILE COUNT   out of whatever COUNT short timers hit: opens, writes, closes, in this
 *                            thread, while another writes unhurt; then five writes
 *   jumps reads FILE COUNT   out of COUNT reads of a pattern, and what goes with them; then the
 *                            first 64 KiB on stdout
 *   jumps gate FIFO FILE     out of a read that waits, three times; then sixty reads of a pattern
 *   jumps stream FILE COUNT  out of COUNT writes of a stream, whose bytes nobody may read; then ten
 *                            single characters between two writes of ten bytes
 *   jumps cancel FILE COUNT  none: COUNT threads that write are cancelled wherever they are; then
 *                            five writes
 * Only calls that a handler may interrupt and leave for good. */
#define _GNU_SOURCE /* close_range */
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#define MUST(condition)                                        \
  do {                                                         \
    if (!(condition)) {                                        \
      fprintf(stderr, "jumps:%d: %s\n", __LINE__, #condition); \
      _exit(9);                                                \
    }                                                          \
  } while (0)

static sigjmp_buf back;
static volatile sig_atomic_t jumps;
static volatile int stop;

static void leave(int number) {
  (void)number;
  ++jumps;
  siglongjmp(back, 1);
}

static void arm(long microseconds) {
  const struct itimerval timer = {{0, 0}, {0, microseconds}};
  MUST(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

static void five_writes(const char* path) {
  const int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
  MUST(fd >= 0);
  for (int i = 0; i < 5; ++i) MUST(pwrite(fd, "x", 1, i * 10) == 1);
  MUST(close(fd) == 0);
}

static void transfers(int fd) {
  char byte;
  for (int i = 0; i < 40; ++i) {
    MUST(pwrite(fd, "y", 1, (i * 7919) % 1000) == 1);
    MUST(pread(fd, &byte, 1, (i * 7919) % 1000) == 1);
  }
}

static void some_calls(const char* path) {
  const int fd = open(path, O_CREAT | O_RDWR, 0600);
  MUST(fd >= 0);
  transfers(fd);
  MUST(close(fd) == 0);
}

static void* unhurt(void* fd) {
  while (!stop) {
    transfers(*(int*)fd);
    usleep(2000); /* a test that reads the trace has so many calls to read */
  }
  return NULL;
}

static void* writes_until_cancelled(void* path) {
  int before;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
  for (;;) some_calls(path);
}

static void cancel_threads(char* path, int count) {
  for (int i = 0; i < count; ++i) {
    pthread_t thread;
    void* end;
    MUST(pthread_create(&thread, NULL, writes_until_cancelled, path) == 0);
    usleep((useconds_t)(100 + i * 37 % 900));
    MUST(pthread_cancel(thread) == 0 && pthread_join(thread, &end) == 0);
    MUST(end == PTHREAD_CANCELED);
    close_range(3, 99, 0); /* what the thread left open; iotune's own lie higher */
  }
}

/* Which code it was is all that a crash of one run in thousands leaves. */
static void tell_where(int number) {
  static const char kSays[] = "jumps: no memory there; the calls that led to it:\n";
  void* frames[32];
  signal(number, SIG_DFL);
  if (write(2, kSays, sizeof kSays - 1) > 0) backtrace_symbols_fd(frames, backtrace(frames, 32), 2);
  raise(number);
}

static void read_pattern(const char* path, int count) {
  static char buffer[65536];
  volatile int at = 0, fd = open(path, O_RDONLY);
  while (jumps < count) {
    if (sigsetjmp(back, 1) == 0) {
      if (jumps % 50 == 49) {
        close(fd);
        fd = open(path, O_RDONLY);
      }
      arm(100 + jumps % 64);
      for (;; ++at) MUST(pread(fd, buffer, 4096, at % 100 * 100000L) == 4096);
    }
  }
  arm(0);
  MUST(pread(fd, buffer, sizeof buffer, 0) == (ssize_t)sizeof buffer);
  MUST(write(1, buffer, sizeof buffer) == (ssize_t)sizeof buffer);
}

static void sixty_reads(const char* path) {
  static char buffer[65536];
  const int fd = open(path, O_RDONLY);
  for (int i = 0; i < 60; ++i) {
    MUST(pread(fd, buffer, sizeof buffer, i * 600000L) == (ssize_t)sizeof buffer);
    usleep(4000);
  }
  MUST(close(fd) == 0);
}

static void write_from_nowhere(const char* path, int count) {
  const char* const nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  FILE* const stream = fopen(path, "w");
  MUST(nowhere != MAP_FAILED && stream != NULL && fwrite("0123456789", 1, 10, stream) == 10);
  signal(SIGSEGV, leave);
  while (jumps < count) {
    if (sigsetjmp(back, 1) == 0) MUST(fwrite(nowhere, 1, 100, stream) == 0);
  }
  MUST(fwrite("0123456789", 1, 10, stream) == 10);
  for (int i = 0; i < 10; ++i) MUST(fputc('a' + i, stream) == 'a' + i);
  MUST(fwrite("0123456789", 1, 10, stream) == 10 && fclose(stream) == 0);
}

int main(int argc, char** argv) {
  MUST(argc == 4);
  signal(SIGALRM, leave);
  if (strcmp(argv[1], "reads") == 0) {
    void* frame;
    backtrace(&frame, 1); /* loads what it needs */
    signal(SIGSEGV, tell_where);
    read_pattern(argv[2], atoi(argv[3]));
  } else if (strcmp(argv[1], "read") == 0 || strcmp(argv[1], "gate") == 0) {
    const int fd = open(argv[2], O_RDWR);
    MUST(fd >= 0);
    char byte;
    while (jumps < 3) {
      if (sigsetjmp(back, 1) == 0) {
        arm(20000);
        MUST(read(fd, &byte, 1) == -2);
      }
    }
    if (argv[1][0] == 'g') {
      sixty_reads(argv[3]);
    } else {
      five_writes(argv[3]);
    }
  } else if (strcmp(argv[1], "stream") == 0) {
    write_from_nowhere(argv[2], atoi(argv[3]));
  } else if (strcmp(argv[1], "cancel") == 0) {
    cancel_threads(argv[2], atoi(argv[3]));
    five_writes(argv[2]);
  } else {
    char other[4096];
    snprintf(other, sizeof other, "%s.other", argv[2]);
    /* A first call is bound by the loader, which no jump may leave. */
    some_calls(argv[2]);
    five_writes(other);
    const int count = atoi(argv[3]);
    int first = open(other, O_RDWR);
    MUST(first >= 0);
    sigset_t all, none; /* the thread inherits that it gets none */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &none);
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, unhurt, &first) == 0);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    while (jumps < count) {
      if (sigsetjmp(back, 1) == 0) {
        arm(20 + jumps * 37 % 900);
        for (;;) some_calls(argv[2]);
      }
      close_range((unsigned)first + 1, ~0U, 0); /* what the jump left open */
    }
    stop = 1;
    MUST(pthread_join(thread, NULL) == 0);
    five_writes(argv[2]);
  }
  printf("%d jumps\n", (int)jumps);
  return 0;
}
