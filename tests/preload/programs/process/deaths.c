/* Makes known calls in the folder argv[1], then dies as argv[2] says, argv[3] being a seed.
 * Before each series of calls it prints "plan PID PATH SEED CALLS": a test that has the trace draws
 * the same numbers and finds the calls (tests/preload/process/test_deaths.py). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(condition)                                           \
  do {                                                            \
    if (!(condition)) {                                           \
      fprintf(stderr, "line %d: %s: %m\n", __LINE__, #condition); \
      _exit(99);                                                  \
    }                                                             \
  } while (0)

extern char** environ;
static const char* folder;
static uint32_t seed;

static uint32_t draw(uint32_t* state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

static void path_of(const char* name, char path[4096]) {
  MUST(snprintf(path, 4096, "%s/%s", folder, name) < 4096);
}

static int open_file(const char* name) {
  char path[4096];
  path_of(name, path);
  int fd = open(path, O_RDWR | O_CREAT, 0600);
  MUST(fd >= 0 && ftruncate(fd, 1 << 20) == 0);
  return fd;
}

static void say_plan(const char* name, uint32_t from, int calls) {
  char line[4400], path[4096];
  path_of(name, path);
  int bytes =
      snprintf(line, sizeof line, "plan %ld %u %d %s\n", syscall(SYS_getpid), from, calls, path);
  MUST(syscall(SYS_write, 1, line, bytes) == bytes);
}

static void series(int fd, const char* name, uint32_t from, int calls) {
  char buffer[64] = {0};
  say_plan(name, from, calls);
  for (int i = 0; i < calls; ++i) {
    uint32_t what = draw(&from), at = draw(&from) % 1000000;
    ssize_t bytes = 1 + what % 64;
    if (what & 64)
      MUST(pwrite(fd, buffer, (size_t)bytes, at) == bytes);
    else
      MUST(pread(fd, buffer, (size_t)bytes, at) == bytes);
  }
}

/* Some files, of which the first stays open. */
static int some_files(const char* who, uint32_t from) {
  int files = 2 + (int)(draw(&from) % 3), kept = -1;
  for (int i = 0; i < files; ++i) {
    char name[64];
    snprintf(name, sizeof name, "%s%d", who, i);
    int fd = open_file(name);
    /* The first ones overflow a ring. */
    int calls = (int)(draw(&from) % 300);
    series(fd, name, draw(&from), i == 0 && strcmp(who, "main") == 0 ? 4000 + calls : 50 + calls);
    if (i == 0)
      kept = fd;
    else
      MUST(close(fd) == 0);
  }
  return kept;
}

static pthread_barrier_t all_done;
static void* in_thread(void* number) {
  char name[64];
  snprintf(name, sizeof name, "thread%d", (int)(long)number);
  some_files(name, seed + (uint32_t)(long)number);
  pthread_barrier_wait(&all_done);
  return NULL;
}
enum { kThreads = 5 };
/* Joined by nobody; when it returns all calls are made. */
static void live_threads(void) {
  MUST(pthread_barrier_init(&all_done, NULL, kThreads + 1) == 0);
  pthread_t thread;
  for (long i = 0; i < kThreads; ++i) MUST(pthread_create(&thread, NULL, in_thread, (void*)i) == 0);
  pthread_barrier_wait(&all_done);
}

static void* after_main(void* number) {
  usleep(20000);
  char name[64];
  snprintf(name, sizeof name, "late%d", (int)(long)number);
  some_files(name, seed + (uint32_t)(long)number);
  return NULL;
}

static void* short_life(void* number) {
  char name[64];
  snprintf(name, sizeof name, "short%d", (int)(long)number);
  int fd = open_file(name);
  series(fd, name, (uint32_t)(long)number, 2);
  MUST(close(fd) == 0);
  return NULL;
}
static void short_threads(int threads, int at_once) {
  pthread_t running[300];
  pthread_attr_t small;
  MUST(at_once <= 300 && pthread_attr_init(&small) == 0);
  MUST(pthread_attr_setstacksize(&small, 1 << 16) == 0);
  for (int i = 0; i < threads; i += at_once) {
    int n = threads - i < at_once ? threads - i : at_once;
    for (int k = 0; k < n; ++k)
      MUST(pthread_create(&running[k], &small, short_life, (void*)(long)(i + k)) == 0);
    for (int k = 0; k < n; ++k) MUST(pthread_join(running[k], NULL) == 0);
  }
}

static pthread_barrier_t everybody;
static void* at_once(void* number) {
  char name[64];
  snprintf(name, sizeof name, "atonce%d", (int)(long)number);
  int fd = open_file(name);
  series(fd, name, (uint32_t)(long)number, 5);
  pthread_barrier_wait(&everybody);
  series(fd, name, (uint32_t)(long)number + 1, 30);
  return NULL;
}

static pid_t clone_of_all(void) {
  return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/* Parent and child both go on with the open file and with own ones. */
static void with_child(int fd, pid_t (*make)(void)) {
  pid_t child = make();
  MUST(child >= 0);
  if (child == 0) {
    series(fd, "main0", seed + 10, 175);
    some_files("child", seed + 11);
    _exit(0);
  }
  series(fd, "main0", seed + 12, 200);
  int status = 0;
  MUST(waitpid(child, &status, 0) == child && status == 0);
  series(fd, "main0", seed + 13, 225);
}

static void with_vfork(int fd, char* program) {
  char number[16];
  snprintf(number, sizeof number, "%u", seed + 20);
  char* again[] = {program, (char*)folder, "again", number, NULL};
  for (int i = 0; i < 3; ++i) {
    pid_t child = vfork();
    MUST(child >= 0);
    if (child == 0) {
      /* Nobody's calls: the parent's memory, another process's descriptors. */
      char byte = 'v';
      if (pwrite(fd, &byte, 1, 5) != 1 || close(fd) != 0) _exit(1);
      if (i == 1) _exit(0);
      if (i == 2) {
        execl("/nonexistent/program", "no", (char*)NULL);
        _exit(0);
      }
      execv("/proc/self/exe", again);
      _exit(2);
    }
    int status = 0;
    MUST(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == (i == 0 ? 6 : 0));
    series(fd, "main0", seed + 21 + (uint32_t)i, 175);
  }
}

int main(int argc, char** argv) {
  MUST(argc == 4);
  folder = argv[1];
  const char* how = argv[2];
  seed = (uint32_t)strtoul(argv[3], NULL, 10);
  if (strcmp(how, "short-threads") == 0) {
    short_threads(10000, 8);
    return 0;
  }
  if (strcmp(how, "short-threads-kill") == 0) {
    short_threads(1500, 50);
    raise(SIGKILL);
  }
  if (strcmp(how, "threads-at-once") == 0) {
    enum { kMany = 200 };
    pthread_t many[kMany];
    MUST(pthread_barrier_init(&everybody, NULL, kMany) == 0);
    for (long i = 0; i < kMany; ++i) MUST(pthread_create(&many[i], NULL, at_once, (void*)i) == 0);
    for (int i = 0; i < kMany; ++i) MUST(pthread_join(many[i], NULL) == 0);
    return 0;
  }
  int fd = some_files(strcmp(how, "again") == 0 ? "again" : "main", seed);
  if (strcmp(how, "return") == 0 || strcmp(how, "again") == 0) return 6;
  if (strcmp(how, "exit") == 0) exit(5);
  if (strcmp(how, "_exit") == 0) _exit(3);
  if (strcmp(how, "exit_group") == 0) syscall(SYS_exit_group, 7);
  if (strcmp(how, "quick_exit") == 0) quick_exit(4);
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "term") == 0) raise(SIGTERM);
  if (strcmp(how, "kill") == 0) raise(SIGKILL);
  if (strcmp(how, "segv") == 0) *(volatile int*)(uintptr_t)(seed % 4096) = 1;
  if (strcmp(how, "exec") == 0) {
    execl("/proc/self/exe", argv[0], folder, "again", argv[3], (char*)NULL);
    _exit(98);
  }
  if (strcmp(how, "fork") == 0) return with_child(fd, fork), 0;
  if (strcmp(how, "_Fork") == 0) return with_child(fd, _Fork), 0;
  if (strcmp(how, "clone") == 0) return with_child(fd, clone_of_all), 0;
  if (strcmp(how, "vfork") == 0) return with_vfork(fd, argv[0]), 0;
  if (strcmp(how, "spawn") == 0) {
    char* again[] = {argv[0], (char*)folder, "again", argv[3], NULL};
    pid_t child = 0;
    int status = 0;
    MUST(posix_spawn(&child, "/proc/self/exe", NULL, NULL, again, environ) == 0);
    MUST(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 6);
    series(fd, "main0", seed + 30, 175);
    return 0;
  }
  if (strcmp(how, "threads-return") == 0) return live_threads(), 8;
  if (strcmp(how, "threads-kill") == 0) return live_threads(), raise(SIGKILL), 97;
  if (strcmp(how, "threads-_exit") == 0) live_threads(), _exit(9);
  if (strcmp(how, "threads-outlive") == 0) {
    pthread_t thread;
    for (long i = 0; i < kThreads; ++i)
      MUST(pthread_create(&thread, NULL, after_main, (void*)i) == 0);
    pthread_exit(NULL);
  }
  return 97;
}
