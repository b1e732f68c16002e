/* The 30 greatest of a matrix of int32 in a file: four sub-matrices one after the other, each read
 * and then searched, a process its rows of each. Zhao et al., "Prefetching with inter-thread I/O
 * scheduling", experiment 1. */
#include <stdio.h>
#include <stdlib.h>

#include "chunked_run.h"

enum { PARTS = 4, GREATEST = 30 };

struct greatest {
  int32_t value[GREATEST]; /* descending */
};

static void put(struct greatest* found, int32_t value) {
  int at = GREATEST - 1;
  while (at > 0 && found->value[at - 1] < value) {
    found->value[at] = found->value[at - 1];
    --at;
  }
  found->value[at] = value;
}

static void search(struct greatest* found, const int32_t* values, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (values[i] > found->value[GREATEST - 1]) put(found, values[i]);
  }
}

int main(int argc, char** argv) {
  struct chunked_run run;
  chunked_begin(&run, argc, argv);
  const int64_t share = chunked_input_bytes(&run) / PARTS / run.ranks / CHUNK_UNIT * CHUNK_UNIT;
  const size_t chunk = run.chunk_bytes != 0 ? run.chunk_bytes : (size_t)share;
  int32_t* const values = malloc(chunk + 1);
  if (values == NULL || share == 0) {
    fprintf(stderr, "%s: too small a share, or no memory\n", run.input);
    return 2;
  }
  struct greatest found;
  for (int i = 0; i < GREATEST; ++i) found.value[i] = INT32_MIN;
  for (int part = 0; part < PARTS; ++part) {
    const int64_t begin = (part * (int64_t)run.ranks + run.rank) * share;
    for (int64_t at = 0; at < share; at += (int64_t)chunk) {
      const size_t bytes = share - at < (int64_t)chunk ? (size_t)(share - at) : chunk;
      chunked_read(&run, values, bytes, begin + at);
      chunked_pause(&run, bytes);
      search(&found, values, bytes / sizeof *values);
    }
  }
  for (int i = 0; i < GREATEST; ++i) chunked_add_check(&run, (uint32_t)found.value[i]);
  free(values);
  return chunked_end(&run);
}
