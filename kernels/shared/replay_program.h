/* What the replayers share as programs: the command line and parts of the
 * line of JSON that they print. */
#ifndef IOTUNE_REPLAY_PROGRAM_H
#define IOTUNE_REPLAY_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

struct replay_flag {
  const char* name; /* NULL behind the last one */
  bool* given;
};

struct replay_options {
  const char *program, *usage;
  const struct replay_flag* flag;
  bool needs_dir;
  bool carries_plan; /* and its argument is the directory, "." without it */

  const char *plan, *file_dir;
  int repeat;
};

/* -1 where the program may go on, else its exit status; rank 0 has said why. */
int replay_read_options(int argc, char** argv, int rank, struct replay_options* options);

/* `, "name": [numbers]` */
void replay_print_numbers(const char* name, const double* number, size_t count);

#endif
