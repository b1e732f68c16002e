/* spawn_timer ROUNDS WARMUP SEED PROGRAM NAME=PRELOAD…
 *
 * Starts PROGRAM with each preload (empty: none) once a round, in a new random order
 * each round, and prints "round,place,name,nanoseconds" from before posix_spawn to
 * after waitpid. In C because an interpreter's own fork and bookkeeping would be larger
 * than what is measured. */
#define _GNU_SOURCE
#include <errno.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

enum { MAX_ARMS = 16 };

extern char** environ;

struct arm {
  const char* name;
  char** env;
};

static uint64_t state;

static uint64_t draw(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The environment without LD_PRELOAD, or with this one alone. */
static char** environment(const char* preload) {
  size_t count = 0;
  while (environ[count]) count++;
  char** env = calloc(count + 2, sizeof *env);
  if (!env) exit(1);
  size_t kept = 0;
  for (size_t i = 0; i < count; i++)
    if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0) env[kept++] = environ[i];
  if (*preload && asprintf(&env[kept], "LD_PRELOAD=%s", preload) < 0) exit(1);
  return env;
}

static int64_t start(char* program, const struct arm* arm) {
  char* argv[] = {program, NULL};
  pid_t child;
  int status;
  int64_t began = now();
  int failed = posix_spawn(&child, program, NULL, NULL, argv, arm->env);
  if (failed) {
    fprintf(stderr, "spawn_timer: %s: %s\n", program, strerror(failed));
    exit(1);
  }
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) exit(1);
  int64_t took = now() - began;
  if (status != 0) {
    fprintf(stderr, "spawn_timer: %s with %s: status %d\n", program, arm->name, status);
    exit(1);
  }
  return took;
}

int main(int argc, char** argv) {
  struct arm arms[MAX_ARMS];
  int count = argc - 5;
  if (count < 1 || count > MAX_ARMS) {
    fprintf(stderr, "usage: spawn_timer ROUNDS WARMUP SEED PROGRAM NAME=PRELOAD...\n");
    return 2;
  }
  long rounds = strtol(argv[1], NULL, 10);
  long warmup = strtol(argv[2], NULL, 10);
  /* xorshift stays at zero once there. */
  state = strtoull(argv[3], NULL, 10) * 2 + 1;
  for (int i = 0; i < count; i++) {
    char* equals = strchr(argv[5 + i], '=');
    if (!equals) return 2;
    *equals = 0;
    arms[i].name = argv[5 + i];
    arms[i].env = environment(equals + 1);
  }
  for (long round = -warmup; round < rounds; round++) {
    int order[MAX_ARMS];
    for (int i = 0; i < count; i++) order[i] = i;
    for (int i = count - 1; i > 0; i--) {
      int other = (int)(draw() % (uint64_t)(i + 1));
      int swap = order[i];
      order[i] = order[other];
      order[other] = swap;
    }
    for (int place = 0; place < count; place++) {
      int64_t took = start(argv[4], &arms[order[place]]);
      if (round >= 0)
        printf("%ld,%d,%s,%lld\n", round, place, arms[order[place]].name, (long long)took);
    }
  }
  return 0;
}
