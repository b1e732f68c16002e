/* How a dataset's axes are dealt to the ranks, in elements. */
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

/* `size` is what every part holds. `uneven` takes a third of the last part
 * (BLOCK) or of the last run (CYCLIC), and at least one element. */
struct kernel_axis kernel_axis_of_size(enum kernel_axis_kind kind, hsize_t size, hsize_t run,
                                       hsize_t parts, hsize_t part, bool uneven);

/* BLOCK of a given extent: parts of ceil(extent / parts), so the last ones may
 * be smaller or empty. */
struct kernel_axis kernel_axis_of_extent(hsize_t extent, hsize_t parts, hsize_t part);

hsize_t kernel_axis_count(const struct kernel_axis* axis);

/* Returns 0, 1 or 2: a cyclic axis ends in a piece of its own where its last
 * run is cut short. */
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
