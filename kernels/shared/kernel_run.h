/* The properties of one kernel, and the program that runs it. */
#ifndef IOTUNE_KERNEL_RUN_H
#define IOTUNE_KERNEL_RUN_H

#include "kernel_dataset.h"
#include "kernel_options.h"

enum { KERNEL_GRID_BALANCED = -1, KERNEL_MAX_FILES = 3 };

struct kernel_spec {
  const char* name;   /* of the program, and of the file without --output */
  const char* output; /* default file, NULL: <name>.h5 */
  const char* summary;
  enum kernel_element element;
  enum kernel_axis_kind kind;
  struct kernel_dims size;   /* of a rank */
  struct kernel_dims extent; /* of the whole dataset, where the kernel fixes that instead */
  hsize_t run;               /* length of a run; 0: not block-cyclic */
  bool any_dims;             /* --size may have another number of dimensions */
  int grid_axis;             /* gets all ranks by default, or KERNEL_GRID_BALANCED */
  bool grid_fixed;           /* other axes may not be divided */
  int datasets;
  int files; /* of a step */
  /* Names a dataset of the one file. Unused where `lay_out` is given. */
  void (*name_dataset)(char* path, size_t size, int number, int step);
  /* NULL: one file of equal datasets. */
  void (*lay_out)(const struct kernel_dims* size, const struct kernel_axis* axis, int datasets,
                  int number, struct kernel_file* file);
  const char* const* suffix; /* per file, put before ".h5"; NULL: none */
};

/* Appends a dataset; the caller sets its axes, elements and marks. */
struct kernel_dataset* kernel_file_add(struct kernel_file* file, const char* path);

int kernel_main(int argc, char** argv, const struct kernel_spec* spec);

#endif
