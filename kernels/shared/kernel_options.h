/* The command line that all kernels share. */
#ifndef IOTUNE_KERNEL_OPTIONS_H
#define IOTUNE_KERNEL_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "kernel_grid.h"

struct kernel_spec;

struct kernel_options {
  struct kernel_dims grid, size, block, chunk; /* n is 0 where not given */
  int datasets;                                /* 0: the kernel's own number */
  int steps, passes;
  bool numbered; /* --steps was given: file names carry the step */
  bool collective, read, fresh, verify, uneven, json, help;
  int deflate; /* -1: none */
  int pause_ms;
  int rows;           /* of a call; 0: all */
  const char* output; /* NULL: <kernel>.h5; borrowed from argv */
};

/* Returns false with a message in `error` that names the option and its value. */
bool kernel_options_parse(int argc, char** argv, const struct kernel_spec* spec,
                          struct kernel_options* options, char* error, size_t error_size);

void kernel_options_help(FILE* out, const struct kernel_spec* spec);

/* "60x100x300" */
void kernel_dims_print(const struct kernel_dims* dims, char* text, size_t size);

#endif
