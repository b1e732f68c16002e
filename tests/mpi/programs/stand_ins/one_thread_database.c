/* Stands in for libiotune-db.so: says on stderr when a second thread is inside of it. Where JUMP is
 * set the first question is interrupted by SIGALRM. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "patterndb/decide/decision.h"

static atomic_int inside;

__attribute__((visibility("default"))) int iotune_decide(const struct iotune_question* question,
                                                         char* answer, size_t capacity) {
  (void)question;
  if (atomic_fetch_add(&inside, 1) != 0) fputs("two threads at once\n", stderr);
  if (getenv("JUMP") != NULL) raise(SIGALRM);
  usleep(20000);
  snprintf(answer, capacity,
           "iotune-decision 1\nsource exact\nstate tuned\nrow 1\ndistance 0\nmessage m\n"
           "set cb_buffer_size 1048576\nend\n");
  atomic_fetch_sub(&inside, 1);
  return (int)strlen(answer);
}
