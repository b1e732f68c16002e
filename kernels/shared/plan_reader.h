/* Plans as text, one statement a line: what the readers of both formats
 * (replay/PLAN.md, replay_calls/CALL_PLAN.md) share. A rank reads what it
 * needs; the selections and calls of others are skipped, not kept. */
#ifndef IOTUNE_PLAN_READER_H
#define IOTUNE_PLAN_READER_H

#include <stdbool.h>
#include <stddef.h>

struct plan_reader {
  const char* path;           /* of the plan */
  const char* const* carried; /* its lines, the last one NULL, where the program has them itself */
  int rank, ranks;            /* that read it */
  void* plan;                 /* that is read: the format's own structure */
  const char* format;
  long long newest;                                         /* its version */
  bool (*statement)(struct plan_reader*, const char* word); /* by its first word */

  long long version; /* of the plan; 0: not said yet */
  bool right_ranks;  /* 'ranks' was said, and it is ours */
  long line;         /* 0: the plan as a whole */
  char* rest;        /* of the line */
  char why[256];     /* it cannot be read */
};

/* Reads the lines by `statement`. False with `why`, and `line` where it is a line's. */
bool plan_read_lines(struct plan_reader* reader);

/* Whether every rank read its part. The lowest rank among those with the earliest fault prints
 * "PLAN:LINE: why". Collective. */
bool plan_is_agreed(const struct plan_reader* reader, bool right);

/* Returns false. */
bool plan_refuse(struct plan_reader* reader, const char* format, ...);

/* The next field of the line, NULL at its end or at a comment. */
char* plan_word(struct plan_reader* reader);
/* Whether the line has another field. */
bool plan_has_more(const struct plan_reader* reader);
/* Refuses another field. */
bool plan_end(struct plan_reader* reader);

bool plan_number(struct plan_reader* reader, const char* what, long long low, long long high,
                 long long* value);
/* One below `count`. */
bool plan_index(struct plan_reader* reader, const char* what, size_t count, size_t* value);

/* One more zeroed element at the end of an array. Refuses, and returns NULL, without memory. */
void* plan_append(struct plan_reader* reader, void** array, size_t* count, size_t size);

#endif
