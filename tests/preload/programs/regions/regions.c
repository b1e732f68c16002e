/* Marks regions around reads and writes, in the ways that the tests ask for. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "iotune.h"

static char block[4096];

static int opened(const char* path) {
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (fd < 0) {
    perror(path);
    exit(2);
  }
  return fd;
}

static void put(int fd, int count) {
  for (int i = 0; i < count; ++i) {
    if (write(fd, block, sizeof block) != (ssize_t)sizeof block) exit(3);
  }
}

/* Three epochs, each with a step of two blocks, and a checkpoint of one beside it. */
static void nested(int fd) {
  put(fd, 5);
  for (int epoch = 0; epoch < 3; ++epoch) {
    iotune_region_begin("epoch", epoch);
    put(fd, 1);
    iotune_region_begin("step", IOTUNE_NO_VALUE);
    put(fd, 2);
    iotune_region_end("step");
    iotune_region_end("epoch");
    iotune_region_begin("checkpoint", 10 * epoch);
    if (pread(fd, block, sizeof block, 0) != (ssize_t)sizeof block) exit(3);
    iotune_region_end(NULL);
  }
}

/* A million entries, every hundredth with a write. */
static void million(int fd, int count) {
  for (int i = 0; i < count; ++i) {
    iotune_region_begin("step", i);
    if (i % 100 == 0) put(fd, 1);
    iotune_region_end("step");
  }
}

/* Reads at random, so that rings fill up within one region. */
static void irregular(int fd, int count) {
  put(fd, 64);
  unsigned seed = 1;
  iotune_region_begin("all", 7);
  for (int i = 0; i < count; ++i) {
    seed = seed * 1103515245U + 12345U;
    const off_t at = (off_t)(seed >> 8) % (63 * 4096);
    const size_t bytes = 1 + (seed >> 4) % 4000;
    if (pread(fd, block, bytes, at) != (ssize_t)bytes) exit(3);
  }
  iotune_region_end("all");
}

static void unbalanced(int fd) {
  printf("%d ", iotune_region_end("never"));
  printf("%d ", iotune_region_end(NULL));
  iotune_region_begin("outer", 1);
  iotune_region_begin("inner", 2);
  put(fd, 1);
  printf("%d ", iotune_region_end("other"));
  printf("%d ", iotune_region_end("outer")); /* ends both */
  printf("%d\n", iotune_region_end("inner"));
  iotune_region_begin("left open", 3);
  put(fd, 1);
}

static void many_names(int fd) {
  char name[64];
  for (int i = 0; i < 1000; ++i) {
    snprintf(name, sizeof name, "step %d", i);
    iotune_region_begin(name, i);
    put(fd, 1);
    iotune_region_end(name);
  }
}

/* Two names of 10,000 bytes that differ in the last one. */
static void long_names(int fd) {
  char* const large = malloc(10001);
  memset(large, 'x', 10000);
  large[10000] = 0;
  iotune_region_begin(large, 1);
  put(fd, 1);
  large[9999] = 'y';
  iotune_region_begin(large, 2);
  iotune_region_end(large);
  iotune_region_end(NULL);
  free(large);
}

static void deep(int fd) {
  for (int i = 0; i < 200; ++i) iotune_region_begin("level", i);
  put(fd, 1);
  for (int i = 0; i < 200; ++i) iotune_region_end("level");
  iotune_region_begin("after", 1);
  iotune_region_end("after");
}

/* An end of nothing among regions that lie too deep to be recorded. */
static void deep_unbalanced(int fd) {
  iotune_region_begin("outer", 1);
  for (int i = 0; i < 70; ++i) iotune_region_begin("level", i);
  printf("%d ", iotune_region_end("never"));
  iotune_region_begin("other", 1);
  iotune_region_begin("level", 71);
  printf("%d ", iotune_region_end("other")); /* ends both */
  printf("%d ", iotune_region_end("other"));
  for (int i = 0; i < 70; ++i) {
    if (iotune_region_end("level") != 0) exit(5);
  }
  put(fd, 1);
  printf("%d ", iotune_region_end("level"));
  printf("%d\n", iotune_region_end("outer"));
}

/* Regions without a file: `names` of them, each entered `entries` times inside another one. */
static void marks(int names, int entries) {
  char name[64];
  iotune_region_begin("main", 1);
  for (int i = 0; i < names; ++i) {
    snprintf(name, sizeof name, "part %d", i);
    for (int k = 0; k < entries; ++k) {
      iotune_region_begin(name, k);
      iotune_region_begin("inner", k);
      iotune_region_end("inner");
      iotune_region_end(name);
    }
  }
  iotune_region_end("main");
}

static const char* folder;

static void* worker(void* number) {
  char path[4096];
  snprintf(path, sizeof path, "%s/thread-%d", folder, (int)(long)number);
  const int fd = opened(path);
  for (int i = 0; i < 4; ++i) {
    iotune_region_begin("work", i);
    put(fd, 3);
    iotune_region_end("work");
  }
  close(fd);
  return NULL;
}

static void threads(void) {
  pthread_t all[6];
  for (long i = 0; i < 6; ++i) pthread_create(&all[i], NULL, worker, (void*)i);
  for (int i = 0; i < 6; ++i) pthread_join(all[i], NULL);
}

static void forked(int fd) {
  iotune_region_begin("parent", 1);
  put(fd, 1);
  const pid_t child = fork();
  if (child == 0) {
    iotune_region_begin("child", 2);
    put(fd, 2);
    iotune_region_end("child");
    exit(iotune_region_end("parent") == EINVAL ? 0 : 4); /* it is the parent's */
  }
  int status = 0;
  waitpid(child, &status, 0);
  iotune_region_end("parent");
  if (status != 0) exit(4);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* const what = argv[1];
  folder = argv[2];
  char path[4096];
  snprintf(path, sizeof path, "%s/data", folder);
  if (strcmp(what, "code") == 0) {
    const int begun = iotune_region_begin("code", 1);
    printf("%d %d\n", begun, iotune_region_end("code"));
    return 0;
  }
  if (strcmp(what, "marks") == 0) {
    marks(40, 500);
    return 0;
  }
  if (strcmp(what, "late") == 0) marks(8, 500);
  if (strcmp(what, "late-many") == 0) marks(300, 3);
  const int fd = opened(path);
  if (strncmp(what, "late", 4) == 0) {
    iotune_region_begin("write", 1);
    put(fd, 1);
    iotune_region_end("write");
  }
  if (strcmp(what, "deep-unbalanced") == 0) deep_unbalanced(fd);
  if (strcmp(what, "child-marks") == 0) {
    put(fd, 1);
    const pid_t child = fork();
    if (child == 0) {
      marks(40, 500);
      _exit(0);
    }
    waitpid(child, NULL, 0);
  }
  if (strcmp(what, "nested") == 0) nested(fd);
  if (strcmp(what, "million") == 0) million(fd, 1000000);
  if (strcmp(what, "irregular") == 0) irregular(fd, 40000);
  if (strcmp(what, "unbalanced") == 0) unbalanced(fd);
  if (strcmp(what, "names") == 0) many_names(fd);
  if (strcmp(what, "long") == 0) long_names(fd);
  if (strcmp(what, "deep") == 0) deep(fd);
  if (strcmp(what, "threads") == 0) threads();
  if (strcmp(what, "fork") == 0) forked(fd);
  if (strcmp(what, "killed") == 0) {
    million(fd, 5000);
    iotune_region_begin("last", 9);
    put(fd, 2);
    kill(getpid(), SIGKILL);
  }
  return close(fd);
}
