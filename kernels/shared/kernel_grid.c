#include "kernel_grid.h"

#include <mpi.h>

struct kernel_axis kernel_axis_of_size(enum kernel_axis_kind kind, hsize_t size, hsize_t run,
                                       hsize_t parts, hsize_t part, bool uneven) {
  struct kernel_axis axis = {kind, size * parts, kind == KERNEL_BLOCK ? size : run, parts, part};
  if (parts == 1) {
    axis.kind = KERNEL_BLOCK;
    axis.length = size;
  } else if (uneven && size > 1) {
    axis.extent -= axis.length / 3 > 1 ? axis.length / 3 : 1;
  }
  return axis;
}

struct kernel_axis kernel_axis_of_extent(hsize_t extent, hsize_t parts, hsize_t part) {
  struct kernel_axis axis = {KERNEL_BLOCK, extent, (extent + parts - 1) / parts, parts, part};
  return axis;
}

static hsize_t block_count(const struct kernel_axis* axis) {
  hsize_t start = axis->part * axis->length;
  if (start >= axis->extent) return 0;
  hsize_t left = axis->extent - start;
  return left < axis->length ? left : axis->length;
}

/* The whole runs of this part; `rest` is the length of the last, short run, if this part has it. */
static hsize_t whole_runs(const struct kernel_axis* axis, hsize_t* rest) {
  hsize_t whole = axis->extent / axis->length;
  *rest = whole % axis->parts == axis->part ? axis->extent % axis->length : 0;
  return whole > axis->part ? (whole - axis->part + axis->parts - 1) / axis->parts : 0;
}

hsize_t kernel_axis_count(const struct kernel_axis* axis) {
  if (axis->kind == KERNEL_BLOCK) return block_count(axis);
  hsize_t rest;
  hsize_t runs = whole_runs(axis, &rest);
  return runs * axis->length + rest;
}

int kernel_axis_pieces(const struct kernel_axis* axis, struct kernel_piece piece[2]) {
  int n = 0;
  if (axis->kind == KERNEL_BLOCK) {
    hsize_t count = block_count(axis);
    if (count > 0) piece[n++] = (struct kernel_piece){axis->part * axis->length, 1, count, 1};
    return n;
  }
  hsize_t rest;
  hsize_t runs = whole_runs(axis, &rest);
  if (runs > 0)
    piece[n++] = (struct kernel_piece){axis->part * axis->length, axis->parts * axis->length, runs,
                                       axis->length};
  if (rest > 0) piece[n++] = (struct kernel_piece){axis->extent - rest, 1, rest, 1};
  return n;
}

hsize_t kernel_axis_place(const struct kernel_axis* axis, hsize_t local, hsize_t* run) {
  if (axis->kind == KERNEL_BLOCK) {
    *run = block_count(axis) - local;
    return axis->part * axis->length + local;
  }
  hsize_t within = local % axis->length;
  hsize_t place = (local / axis->length * axis->parts + axis->part) * axis->length + within;
  hsize_t left = axis->extent - place;
  *run = axis->length - within < left ? axis->length - within : left;
  return place;
}

void kernel_grid_place(const struct kernel_dims* grid, int rank, hsize_t place[KERNEL_MAX_DIMS]) {
  hsize_t left = (hsize_t)rank;
  for (int i = grid->n - 1; i >= 0; i--) {
    place[i] = left % grid->d[i];
    left /= grid->d[i];
  }
}

struct kernel_dims kernel_grid_balanced(int ranks, int n) {
  int parts[KERNEL_MAX_DIMS] = {0};
  MPI_Dims_create(ranks, n, parts);
  struct kernel_dims grid = {.n = n};
  for (int i = 0; i < n; i++) grid.d[i] = (hsize_t)parts[i];
  return grid;
}

struct kernel_dims kernel_grid_along(int ranks, int n, int axis) {
  struct kernel_dims grid = {.n = n};
  for (int i = 0; i < n; i++) grid.d[i] = i == axis ? (hsize_t)ranks : 1;
  return grid;
}
