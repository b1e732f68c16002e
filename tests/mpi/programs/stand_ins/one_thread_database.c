/* Stands in for libiotune-db.so: says on stderr when a second thread is inside of it. Where JUMP is
 * set the first question is interrupted by SIGALRM; where LOADED is, it says on stdout that it was
 * loaded. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "patterndb/decide/decision.h"

static atomic_int inside;

/* With cb_buffer_size 1048576. */
static int write_decision(union iotune_answer* answer) {
  static const char texts[] = "\0message\0cb_buffer_size\0001048576";
  struct iotune_decision head = {0};
  struct iotune_decision_entry setting;
  const size_t begin = sizeof head + sizeof setting;
  head.version = IOTUNE_DECISION_VERSION;
  head.bytes = (uint32_t)((begin + sizeof texts + 7) / 8 * 8);
  head.row = 1;
  head.setting_count = 1;
  head.pattern = (uint16_t)begin;
  head.message = (uint16_t)(begin + 1);
  head.source = IOTUNE_SOURCE_EXACT;
  head.state = IOTUNE_STATE_TUNED;
  setting.name = (uint16_t)(head.message + sizeof "message");
  setting.value = (uint16_t)(setting.name + sizeof "cb_buffer_size");
  setting.detail = (uint16_t)begin;
  memset(answer, 0, head.bytes);
  memcpy(answer->message, &head, sizeof head);
  memcpy(answer->message + sizeof head, &setting, sizeof setting);
  memcpy(answer->message + begin, texts, sizeof texts);
  return (int)head.bytes;
}

__attribute__((constructor)) static void loaded(void) {
  if (getenv("LOADED") != NULL && write(STDOUT_FILENO, "loaded\n", 7) != 7) _exit(9);
}

__attribute__((visibility("default"))) int iotune_decide(const struct iotune_question* question,
                                                         void* answer, size_t capacity) {
  (void)question;
  if (atomic_fetch_add(&inside, 1) != 0) fputs("two threads at once\n", stderr);
  if (getenv("JUMP") != NULL) raise(SIGALRM);
  usleep(20000);
  const int bytes = capacity < sizeof(union iotune_answer) ? -1 : write_decision(answer);
  atomic_fetch_sub(&inside, 1);
  return bytes;
}
