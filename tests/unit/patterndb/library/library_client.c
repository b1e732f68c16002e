/* library_client LIBRARY PROGRAM FILE FILESYSTEM: asks as the preload does, from plain C. Prints
 * the answer; then, with "observe TRACE" behind, leaves an observation, or with "renamed FROM TO"
 * renames a file and asks once more. Exit status 1: refused. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "patterndb/decide/decision.h"

static double microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  double start = microseconds();
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  double loaded = microseconds();
  if (library == NULL) {
    printf("%s\n", dlerror());
    return 2;
  }
  int (*decide)(const struct iotune_question*, char*, size_t);
  int (*learn)(const struct iotune_run_end*, char*, size_t);
  *(void**)&decide = dlsym(library, "iotune_decide");
  *(void**)&learn = dlsym(library, "iotune_learn");
  if (decide == NULL || learn == NULL) return 2;

  struct iotune_question question = {
      IOTUNE_DECISION_VERSION, 4,        1,       1, "hdf5", argv[2], argv[3],
      "MPICH 4.0.2",           "1.10.8", argv[4], 0, 0,      NULL,    NULL};
  char answer[IOTUNE_DECISION_MAX_BYTES];
  double asked = microseconds();
  int length = decide(&question, answer, sizeof answer);
  double answered = microseconds();
  fprintf(stderr, "load %.0f us, decision %.0f us\n", loaded - start, answered - asked);
  printf("%s%s", answer, length < 0 ? "\n" : "");
  if (length >= 0 && (size_t)length != strlen(answer)) return 2;

  char small[8];
  int cut = decide(&question, small, sizeof small);
  if (cut > 0 || (cut == 0 && length != 0) || strlen(small) >= sizeof small) return 2;
  question.version = 99;
  if (decide(&question, answer, sizeof answer) >= 0) return 2;

  if (argc > 6 && strcmp(argv[5], "observe") == 0) {
    char message[256] = "";
    struct iotune_run_end end = {IOTUNE_DECISION_VERSION, 0, NULL, argv[6], NULL, 0, NULL};
    int done = learn(&end, message, sizeof message);
    printf("observe %d %s\n", done, message);
  }
  if (argc > 7 && strcmp(argv[5], "renamed") == 0) {
    question.version = IOTUNE_DECISION_VERSION;
    if (decide(&question, answer, sizeof answer) >= 0 || rename(argv[6], argv[7]) != 0) return 2;
    length = decide(&question, answer, sizeof answer);
    printf("then %s\n", answer);
  }
  return length < 0 ? 1 : 0;
}
