/* library_client LIBRARY PROGRAM FILE FILESYSTEM: asks as the preload does, from plain C. Prints
 * the answer; then, with "observe TRACE" behind, leaves an observation, or with "renamed FROM TO"
 * renames a file and asks once more. Exit status 1: refused. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "patterndb/decide/decision.h"

static const char* const sources[IOTUNE_SOURCES] = {"none",    "exact",  "similar",   "predicted",
                                                    "config",  "series", "untrained", "unknown",
                                                    "explore", "drift"};

static void print_decision(const union iotune_answer* answer) {
  const struct iotune_decision* const decision = &answer->decision;
  const char* const texts = answer->message;
  const struct iotune_decision_entry* const entries =
      (const struct iotune_decision_entry*)(decision + 1);
  printf("row %lld\nsource %s\nmessage %s\n", (long long)decision->row, sources[decision->source],
         texts + decision->message);
  for (int i = 0; i < decision->setting_count; ++i) {
    printf("set %s %s%s%s\n", texts + entries[i].name, texts + entries[i].value,
           texts[entries[i].detail] == '\0' ? "" : " ", texts + entries[i].detail);
  }
}

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
  int (*decide)(const struct iotune_question*, void*, size_t);
  int (*learn)(const struct iotune_run_end*, char*, size_t);
  *(void**)&decide = dlsym(library, "iotune_decide");
  *(void**)&learn = dlsym(library, "iotune_learn");
  if (decide == NULL || learn == NULL) return 2;

  struct iotune_question question = {
      .version = IOTUNE_DECISION_VERSION, .ranks = 4, .nodes = 1, .creating = 1, .layer = "hdf5",
      .program = argv[2], .file = argv[3], .mpi = "MPICH 4.0.2", .hdf5 = "1.10.8",
      .filesystem = argv[4]};
  union iotune_answer answer;
  double asked = microseconds();
  int length = decide(&question, &answer, sizeof answer);
  double answered = microseconds();
  fprintf(stderr, "load %.0f us, decision %.0f us\n", loaded - start, answered - asked);
  if (length > 0) print_decision(&answer);
  if (length < 0) printf("%s\n", answer.message);
  if (length > 0 && (uint32_t)length != answer.decision.bytes) return 2;

  char small[8];
  int cut = decide(&question, small, sizeof small);
  if (cut > 0 || (cut == 0 && length != 0) || strlen(small) >= sizeof small) return 2;
  question.version = IOTUNE_DECISION_VERSION - 1;
  if (decide(&question, &answer, sizeof answer) >= 0) return 2;

  if (argc > 6 && strcmp(argv[5], "observe") == 0) {
    char message[256] = "";
    struct iotune_run_end end = {IOTUNE_DECISION_VERSION, 0, NULL, argv[6], NULL, 0, NULL};
    int done = learn(&end, message, sizeof message);
    printf("observe %d %s\n", done, message);
  }
  if (argc > 7 && strcmp(argv[5], "renamed") == 0) {
    question.version = IOTUNE_DECISION_VERSION;
    if (decide(&question, &answer, sizeof answer) >= 0 || rename(argv[6], argv[7]) != 0) return 2;
    length = decide(&question, &answer, sizeof answer);
    printf("then %s\n", length < 0 ? answer.message : "an answer");
  }
  return length < 0 ? 1 : 0;
}
