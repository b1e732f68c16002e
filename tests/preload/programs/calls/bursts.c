/* Writes, pauses and writes again: bursts FILE HOW CALLS PAUSE_MS. Each burst is CALLS writes of 64
 * bytes, one behind the other. Prints of each when it began and ended, in ns.
 *   loop      a burst, the pause, a burst; then return
 *   random    the same, at offsets without a pattern
 *   kill      a burst, the pause, half a burst, SIGKILL
 *   fork      a burst; after the pause a child makes one, and its parent waits for it
 *   exec      a burst; after the pause this program anew, with `once`
 *   once      a burst
 *   threads   two threads: the one makes its burst, the other its own after a pause
 *   long      a burst, a write of 64 MiB, a burst */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MUST(condition)                                           \
  do {                                                            \
    if (!(condition)) {                                           \
      fprintf(stderr, "line %d: %s: %m\n", __LINE__, #condition); \
      _exit(99);                                                  \
    }                                                             \
  } while (0)

static int file;
static long calls, pause_ms;
static int without_pattern;

static long now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void burst(long count) {
  const long begin_ns = now_ns();
  static const char bytes[64];
  unsigned long drawn = 88172645463325252UL;
  for (long i = 0; i < count; ++i) {
    drawn ^= drawn << 13;
    drawn ^= drawn >> 7;
    drawn ^= drawn << 17;
    const long at = without_pattern ? (long)(drawn % 1000000) : i;
    MUST(pwrite(file, bytes, sizeof bytes, 64 * at) == sizeof bytes);
  }
  printf("%ld %ld\n", begin_ns, now_ns());
  fflush(stdout);
}

static void rest(void) {
  const struct timespec time = {pause_ms / 1000, pause_ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

static pthread_barrier_t first_is_done;

static void* late(void* unused) {
  pthread_barrier_wait(&first_is_done);
  rest();
  burst(calls);
  return unused;
}

int main(int argc, char** argv) {
  MUST(argc == 5);
  const char* const how = argv[2];
  calls = atol(argv[3]);
  pause_ms = atol(argv[4]);
  file = open(argv[1], O_RDWR | O_CREAT, 0600);
  MUST(file >= 0);
  without_pattern = strcmp(how, "random") == 0;
  if (strcmp(how, "threads") == 0) {
    pthread_t other;
    MUST(pthread_barrier_init(&first_is_done, NULL, 2) == 0);
    MUST(pthread_create(&other, NULL, late, NULL) == 0);
    burst(calls);
    pthread_barrier_wait(&first_is_done);
    MUST(pthread_join(other, NULL) == 0);
    return 0;
  }
  burst(calls);
  if (strcmp(how, "once") == 0) return 0;
  if (strcmp(how, "long") == 0) {
    const size_t much = 64 << 20;
    char* const memory = calloc(1, much);
    MUST(memory != NULL && pwrite(file, memory, much, 0) == (ssize_t)much);
    free(memory);
    burst(calls);
    return 0;
  }
  rest();
  if (strcmp(how, "exec") == 0) {
    execl("/proc/self/exe", argv[0], argv[1], "once", argv[3], argv[4], (char*)NULL);
    MUST(0);
  }
  if (strcmp(how, "fork") == 0) {
    const pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) {
      burst(calls);
      _exit(0);
    }
    int status = 0;
    MUST(waitpid(child, &status, 0) == child && status == 0);
    return 0;
  }
  if (strcmp(how, "kill") == 0) {
    burst(calls / 2);
    raise(SIGKILL);
  }
  burst(calls);
  return 0;
}
