/* Makes calls of which no two are alike, so that their blocks fill memory: spilling FOLDER HOW SEED
 * CALLS. Thread i reads the file FOLDER/PID.i at offsets drawn from SEED + i and says in
 * FOLDER/PID.i.made, which it has mapped, from what it draws and how many reads have returned:
 * a test that has the trace draws the same numbers (tests/preload/traces/test_spill.py).
 *   exit      one thread, then return
 *   threads   three at once, then return
 *   fork      calls, a child that makes as many, calls again
 *   exec      calls, then this program anew with `again`, which is `exit` with thread 1's numbers
 *   remove    calls, then all *.iospill in the folder of IOTUNE_TRACE are removed, calls again */
#define _GNU_SOURCE
#include <fcntl.h>
#include <glob.h>
#include <libgen.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(condition)                                           \
  do {                                                            \
    if (!(condition)) {                                           \
      fprintf(stderr, "line %d: %s: %m\n", __LINE__, #condition); \
      _exit(99);                                                  \
    }                                                             \
  } while (0)

struct series {
  uint64_t state;
  long calls;
  int number;
  int file;
  volatile uint64_t* made;
};
static const char* folder;

static void begin(struct series* series, uint64_t seed, int number, long calls) {
  char path[4096];
  series->state = seed + (uint64_t)number;
  series->calls = calls;
  series->number = number;
  snprintf(path, sizeof path, "%s/%ld.%d.made", folder, (long)getpid(), number);
  int made = open(path, O_RDWR | O_CREAT, 0600);
  MUST(made >= 0 && ftruncate(made, 16) == 0);
  series->made = mmap(NULL, 16, PROT_READ | PROT_WRITE, MAP_SHARED, made, 0);
  MUST(series->made != MAP_FAILED);
  close(made);
  series->made[0] = series->state;
  // Of a run that moves no byte no trace is kept.
  snprintf(path, sizeof path, "%s/%ld.%d.byte", folder, (long)getpid(), number);
  int byte = open(path, O_WRONLY | O_CREAT, 0600);
  MUST(byte >= 0 && write(byte, "b", 1) == 1 && close(byte) == 0);
  snprintf(path, sizeof path, "%s/%ld.%d", folder, (long)getpid(), number);
  series->file = open(path, O_RDWR | O_CREAT, 0600);
  MUST(series->file >= 0);
}

static void* go_on(void* argument) {
  struct series* series = argument;
  char buffer[64];
  for (long i = 0; i < series->calls; ++i) {
    series->state = series->state * 6364136223846793005u + 1442695040888963407u;
    MUST(pread(series->file, buffer, 1 + (series->state >> 58), (off_t)(series->state >> 2)) == 0);
    ++series->made[1];
  }
  return NULL;
}

static void remove_spilled(void) {
  char trace[4096], pattern[4200];
  snprintf(trace, sizeof trace, "%s", getenv("IOTUNE_TRACE"));
  snprintf(pattern, sizeof pattern, "%s/*.iospill", dirname(trace));
  glob_t found;
  MUST(glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc == 1);
  for (size_t i = 0; i < found.gl_pathc; ++i) MUST(unlink(found.gl_pathv[i]) == 0);
  globfree(&found);
}

int main(int argc, char** argv) {
  MUST(argc == 5);
  folder = argv[1];
  const char* how = argv[2];
  const uint64_t seed = strtoull(argv[3], NULL, 10);
  const long calls = atol(argv[4]);
  struct series series[3];
  if (strcmp(how, "threads") == 0) {
    pthread_t threads[3];
    for (int i = 0; i < 3; ++i) begin(&series[i], seed, i, calls);
    for (int i = 0; i < 3; ++i) MUST(pthread_create(&threads[i], NULL, go_on, &series[i]) == 0);
    for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
    return 0;
  }
  begin(&series[0], seed, strcmp(how, "again") == 0 ? 1 : 0, calls);
  go_on(&series[0]);
  if (strcmp(how, "fork") == 0) {
    const pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) {
      begin(&series[0], seed + 7, 0, calls);
      go_on(&series[0]);
      _exit(0);
    }
    go_on(&series[0]);
    int status = -1;
    MUST(waitpid(child, &status, 0) == child && status == 0);
  } else if (strcmp(how, "exec") == 0) {
    char again[32];
    snprintf(again, sizeof again, "%llu", (unsigned long long)seed);
    execl("/proc/self/exe", argv[0], folder, "again", again, argv[4], (char*)NULL);
    MUST(0);
  } else if (strcmp(how, "remove") == 0) {
    remove_spilled();
    go_on(&series[0]);
  } else {
    MUST(strcmp(how, "exit") == 0 || strcmp(how, "again") == 0);
  }
  return 0;
}
