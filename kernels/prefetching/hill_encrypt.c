/* Hill's cipher with a key of 100 by 100 over a file, chunk by chunk: read, encrypted, written; the
 * processes take turns. Eight chunks a process where nothing else is asked for. Zhao et al.,
 * "Prefetching with inter-thread I/O scheduling", experiment 2. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chunked_run.h"

enum { ORDER = 100 };

static uint8_t g_columns[ORDER][ORDER]; /* of the key, modulo 256 */

/* The product of two triangular matrices with ones on the diagonal: what has an inverse decrypts.
 */
static void make_key(void) {
  static uint8_t lower[ORDER][ORDER], upper[ORDER][ORDER];
  uint32_t draw = 1;
  for (int i = 0; i < ORDER; ++i) {
    for (int j = 0; j < ORDER; ++j) {
      draw = draw * 1664525u + 1013904223u;
      const uint8_t drawn = (uint8_t)(draw >> 24);
      lower[i][j] = i == j ? 1 : j < i ? drawn : 0;
      upper[i][j] = i == j ? 1 : j > i ? drawn : 0;
    }
  }
  for (int i = 0; i < ORDER; ++i) {
    for (int j = 0; j < ORDER; ++j) {
      unsigned sum = 0;
      for (int k = 0; k < ORDER; ++k) sum += (unsigned)lower[i][k] * upper[k][j];
      g_columns[j][i] = (uint8_t)sum;
    }
  }
}

static void encrypt(uint8_t* to, const uint8_t* plain) {
  uint8_t sum[ORDER] = {0};
  for (int j = 0; j < ORDER; ++j) {
    for (int i = 0; i < ORDER; ++i) sum[i] = (uint8_t)(sum[i] + g_columns[j][i] * plain[j]);
  }
  memcpy(to, sum, ORDER);
}

int main(int argc, char** argv) {
  struct chunked_run run;
  chunked_begin(&run, argc, argv);
  make_key();
  const int64_t share = chunked_input_bytes(&run) / run.ranks / CHUNK_UNIT * CHUNK_UNIT;
  const int64_t eighth = share / 8 / CHUNK_UNIT * CHUNK_UNIT;
  const size_t usual = eighth == 0 ? (size_t)CHUNK_UNIT : (size_t)eighth;
  const size_t chunk = run.chunk_bytes != 0 ? run.chunk_bytes : usual;
  uint8_t* const plain = malloc(2 * chunk);
  if (plain == NULL || share == 0 || chunk % ORDER != 0) {
    fprintf(stderr, "%s: too small a share, no memory, or a chunk of no whole vectors\n",
            run.input);
    return 2;
  }
  uint8_t* const cipher = plain + chunk;
  for (int64_t at = 0; at < share; at += (int64_t)chunk) {
    const size_t bytes = share - at < (int64_t)chunk ? (size_t)(share - at) : chunk;
    /* The last turn's chunks may be smaller. */
    const int64_t offset = at * run.ranks + run.rank * (int64_t)bytes;
    chunked_read(&run, plain, bytes, offset);
    /* Under a pause one vector of each unit is encrypted all the same, for the check. */
    const size_t step = chunked_pause(&run, bytes) ? CHUNK_UNIT : ORDER;
    if (step != ORDER) memcpy(cipher, plain, bytes);
    for (size_t i = 0; i < bytes; i += step) encrypt(cipher + i, plain + i);
    for (size_t i = 0; i < bytes; i += CHUNK_UNIT) {
      uint64_t word;
      memcpy(&word, cipher + i, sizeof word);
      chunked_add_check(&run, word);
    }
    if (run.out >= 0) chunked_write(&run, cipher, bytes, offset);
  }
  free(plain);
  return chunked_end(&run);
}
