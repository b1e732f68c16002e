/* The command line of fs-test. */
#ifndef IOTUNE_FS_TEST_OPTIONS_H
#define IOTUNE_FS_TEST_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum fs_pattern { FS_STRIDED, FS_SEGMENTED, FS_N_N };

struct fs_options {
  enum fs_pattern pattern;
  enum fs_pattern read_as; /* FS_STRIDED or FS_SEGMENTED: how records are dealt to readers */
  int64_t record_bytes, read_record_bytes;
  int64_t records;  /* that a rank writes */
  int writers;      /* ranks that write, or that wrote what is read */
  int shuffle;      /* a reader takes the share of the rank so many further on */
  uint64_t seed;    /* of the content */
  bool write, read; /* at least one */
  bool mpiio, collective, sync, over, verify, json, help;
  const char* output; /* borrowed from argv */
};

/* Returns false with a message in `error` that names the option and its value. */
bool fs_options_parse(int argc, char** argv, int ranks, struct fs_options* options, char* error,
                      size_t error_size);

void fs_options_help(FILE* out);

const char* fs_pattern_name(enum fs_pattern pattern);

#endif
