/* How the axes of a dataset are divided among the ranks, in elements. */
#ifndef IOTUNE_KERNEL_GRID_H
#define IOTUNE_KERNEL_GRID_H

#include <hdf5.h>
#include <stdbool.h>

enum { KERNEL_MAX_DIMS = 4 };

struct kernel_dims {
  int n; /* 0: not given */
  hsize_t d[KERNEL_MAX_DIMS];
};

enum kernel_axis_kind { KERNEL_BLOCK, KERNEL_CYCLIC };

/* One axis of one dataset as one rank sees it. */
struct kernel_axis {
  enum kernel_axis_kind kind;
  hsize_t extent;
  hsize_t length; /* of a part where BLOCK, of a run where CYCLIC */
  hsize_t parts;
  hsize_t part; /* this rank's */
};

/* The arguments of a hyperslab along one axis. */
struct kernel_piece {
  hsize_t start, stride, count, block;
};

/* An axis of which every part holds `size` elements. `uneven` shortens the last part (BLOCK) or
 * the last run (CYCLIC) by a third, and by at least one element. */
struct kernel_axis kernel_axis_of_size(enum kernel_axis_kind kind, hsize_t size, hsize_t run,
                                       hsize_t parts, hsize_t part, bool uneven);

/* A BLOCK axis of `extent` elements: parts of ceil(extent / parts), so the last ones may be
 * smaller or empty. */
struct kernel_axis kernel_axis_of_extent(hsize_t extent, hsize_t parts, hsize_t part);

hsize_t kernel_axis_count(const struct kernel_axis* axis);

/* Returns how many pieces a rank has, 0 to 2: a cyclic axis whose last run is short has that run
 * as a piece of its own. */
int kernel_axis_pieces(const struct kernel_axis* axis, struct kernel_piece piece[2]);

/* The place in the dataset of this rank's element number `local`, and in `run`
 * how many of its elements follow without a gap, that one included. */
hsize_t kernel_axis_place(const struct kernel_axis* axis, hsize_t local, hsize_t* run);

/* Row-major place of `rank` in `grid`, as MPI_Cart_create numbers without reordering. */
void kernel_grid_place(const struct kernel_dims* grid, int rank, hsize_t place[KERNEL_MAX_DIMS]);

/* Most balanced grid of `n` axes, non-increasing: 8 is 2x2x2, 4 is 2x2x1. */
struct kernel_dims kernel_grid_balanced(int ranks, int n);

/* All ranks along one axis. */
struct kernel_dims kernel_grid_along(int ranks, int n, int axis);

#endif
