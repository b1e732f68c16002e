/* The files of the FLASH I/O benchmark: a checkpoint, a plot file with values
 * at zone centres and one with values at zone corners. A block is a cube of
 * zones; every rank holds the same number of blocks. */
#include <stdio.h>

#include "kernel_run.h"

enum { CHECKPOINT, PLOT_CENTRED, PLOT_CORNERS, PLOT_VARIABLES = 4 };

static struct kernel_axis undivided(hsize_t extent) {
  return kernel_axis_of_extent(extent, 1, 0);
}

static struct kernel_dataset* add(struct kernel_file* file, const char* path,
                                  enum kernel_element element, int ndims) {
  struct kernel_dataset* dataset = kernel_file_add(file, path);
  dataset->element = element;
  dataset->ndims = ndims;
  return dataset;
}

/* A property of every block of the tree; inner extents of 0 end it early. */
static void add_per_block(struct kernel_file* file, const char* path, enum kernel_element element,
                          const struct kernel_axis* blocks, hsize_t inner, hsize_t innermost) {
  int ndims = inner == 0 ? 1 : innermost == 0 ? 2 : 3;
  struct kernel_dataset* dataset = add(file, path, element, ndims);
  dataset->axis[0] = *blocks;
  if (ndims > 1) dataset->axis[1] = undivided(inner);
  if (ndims > 2) dataset->axis[2] = undivided(innermost);
}

static void add_metadata(struct kernel_file* file, const char* path, enum kernel_element element,
                         hsize_t rows, hsize_t columns) {
  struct kernel_dataset* dataset = add(file, path, element, columns > 0 ? 2 : 1);
  dataset->first_rank = true;
  dataset->axis[0] = undivided(rows);
  dataset->axis[1] = undivided(columns);
}

static void variable_name(char* path, size_t size, int number) {
  static const char* const name[] = {"dens", "velx", "vely", "velz", "pres", "temp",
                                     "ener", "eint", "gamc", "game", "gpot"};
  enum { NAMED = sizeof name / sizeof *name };
  if (number < NAMED)
    snprintf(path, size, "/%s", name[number]);
  else
    snprintf(path, size, "/s%03d", number - NAMED);
}

static void lay_out(const struct kernel_dims* size, const struct kernel_axis* axis, int datasets,
                    int number, struct kernel_file* file) {
  const struct kernel_axis* blocks = &axis[0];
  enum kernel_element real = number == CHECKPOINT ? KERNEL_FLOAT64 : KERNEL_FLOAT32;
  int variables = number == CHECKPOINT || datasets < PLOT_VARIABLES ? datasets : PLOT_VARIABLES;
  add_metadata(file, "/file format version", KERNEL_INT32, 1, 0);
  add_metadata(file, "/file creation time", KERNEL_UINT8, 80, 0);
  add_metadata(file, "/simulation parameters", KERNEL_FLOAT64, 6, 0);
  add_metadata(file, "/unknown names", KERNEL_UINT8, (hsize_t)variables, 4);
  add_per_block(file, "/refine level", KERNEL_INT32, blocks, 0, 0);
  add_per_block(file, "/node type", KERNEL_INT32, blocks, 0, 0);
  /* six neighbours, a parent and eight children in three dimensions */
  add_per_block(file, "/gid", KERNEL_INT32, blocks, 15, 0);
  add_per_block(file, "/coordinates", real, blocks, 3, 0);
  add_per_block(file, "/block size", real, blocks, 3, 0);
  add_per_block(file, "/bounding box", real, blocks, 3, 2);
  for (int i = 0; i < variables; i++) {
    char path[32];
    variable_name(path, sizeof path, i);
    struct kernel_dataset* dataset = add(file, path, real, 4);
    dataset->payload = true;
    dataset->axis[0] = *blocks;
    for (int d = 1; d < 4; d++)
      dataset->axis[d] = undivided(size->d[d] + (number == PLOT_CORNERS ? 1 : 0));
  }
}

int main(int argc, char** argv) {
  static const char* const suffix[] = {"_chk", "_plt_cnt", "_plt_crn"};
  static const struct kernel_spec spec = {
      .name = "flash-io",
      .summary = "FLASH-IO: a checkpoint, a plot file of zone centres and one of zone corners.",
      .kind = KERNEL_BLOCK,
      .size = {4, {80, 8, 8, 8}},
      .grid_fixed = true,
      .datasets = 24,
      .files = 3,
      .lay_out = lay_out,
      .suffix = suffix,
  };
  return kernel_main(argc, argv, &spec);
}
