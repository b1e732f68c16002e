/* Makes the files that a plan only reads: they have to exist first. */
#include <mpi.h>
#include <string.h>

#include "replay_file.h"

/* How a dataset is shared out: slices of one axis, the same number of calls
 * for every rank because compressed chunks need collective ones, and whole
 * chunks, because part of one would be read back each time. */
struct shares {
  int axis;
  hsize_t share, slice; /* of the axis: a rank's in all, and in one call */
  size_t slice_bytes;
};

static struct shares share_out(const struct plan_dataset* dataset, int ranks) {
  enum { CALL_BYTES = 1 << 24 };
  struct shares shares = {.axis = 0};
  if (dataset->dims[0] < (hsize_t)ranks)
    for (int d = 1; d < dataset->ndims; d++)
      if (dataset->dims[d] > dataset->dims[shares.axis]) shares.axis = d;
  hsize_t thickness = dataset->element_bytes, extent = dataset->dims[shares.axis];
  for (int d = 0; d < dataset->ndims; d++)
    if (d != shares.axis) thickness *= dataset->dims[d];
  hsize_t unit = dataset->chunked ? dataset->chunk[shares.axis] : 1;
  hsize_t units = (extent + unit - 1) / unit;
  hsize_t per_call = CALL_BYTES / (thickness * unit + 1);
  shares.share = (units + (hsize_t)ranks - 1) / (hsize_t)ranks * unit;
  shares.slice = (per_call > 0 ? per_call : 1) * unit;
  if (shares.slice > shares.share) shares.slice = shares.share;
  shares.slice_bytes = shares.slice * thickness;
  return shares;
}

/* Writes what `transfer` selects, once. */
static void write_part(hid_t id, const struct plan_file* file, const struct plan_dataset* dataset,
                       const struct plan_transfer* transfer, hid_t mode,
                       struct replay_buffer* buffer) {
  hid_t space = replay_space(file, dataset);
  hid_t memory = replay_select(space, file, transfer, 0);
  replay_move(id, file, dataset, true, false, memory, space, mode, buffer);
  H5Sclose(memory);
  H5Sclose(space);
}

static void write_slices(hid_t id, const struct plan_file* file, const struct plan_dataset* dataset,
                         int rank, int ranks, hid_t mode, struct replay_buffer* buffer) {
  struct shares shares = share_out(dataset, ranks);
  hsize_t extent = dataset->dims[shares.axis];
  hsize_t first = shares.share * (hsize_t)rank;
  hsize_t end = first + shares.share < extent ? first + shares.share : extent;
  int n = dataset->ndims;
  replay_reserve(buffer, shares.slice_bytes);
  for (hsize_t from = first; from < first + shares.share; from += shares.slice) {
    hsize_t place[4 * H5S_MAX_RANK];
    bool some = from < end;
    for (int d = 0; d < n; d++) {
      place[d] = 0;
      place[n + d] = place[3 * n + d] = 1;
      place[2 * n + d] = dataset->dims[d];
    }
    place[shares.axis] = from;
    place[2 * n + shares.axis] = some && end - from < shares.slice ? end - from : shares.slice;
    struct plan_transfer slab = {.dataset = (size_t)(dataset - file->dataset),
                                 .repeat = 1,
                                 .selection = some ? PLAN_SLABS : PLAN_NONE,
                                 .count = some ? 1 : 0,
                                 .place = place};
    if (some || mode != H5P_DEFAULT) write_part(id, file, dataset, &slab, mode, buffer);
  }
}

static void prepare_dataset(hid_t handle, const struct plan_file* file,
                            const struct plan_dataset* dataset, struct replay_buffer* buffer) {
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  hid_t id = replay_create_dataset(handle, file, dataset);
  bool collective = dataset->deflate >= 0, empty = false;
  hid_t mode = replay_mode(file->path, collective);
  for (int d = 0; d < dataset->ndims; d++) empty = empty || dataset->dims[d] == 0;
  if (dataset->ndims > 0 && !empty) {
    write_slices(id, file, dataset, rank, ranks, mode, buffer);
  } else if (dataset->ndims == 0 && rank == 0) {
    struct plan_transfer all = {
        .dataset = (size_t)(dataset - file->dataset), .repeat = 1, .selection = PLAN_ALL};
    replay_reserve(buffer, dataset->element_bytes);
    write_part(id, file, dataset, &all, mode, buffer);
  }
  if (collective) H5Pclose(mode);
  replay_close_dataset(id, file, dataset);
}

/* Whether a dataset line before this one names the same dataset. */
static bool named_before(const struct plan* plan, size_t first, size_t part, size_t number) {
  const struct plan_file* own = &plan->file[part];
  for (size_t i = first; i <= part; i++) {
    const struct plan_file* file = &plan->file[i];
    if (strcmp(file->path, own->path) != 0) continue;
    for (size_t j = 0; j < (i == part ? number : file->datasets); j++)
      if (strcmp(file->dataset[j].path, own->dataset[number].path) == 0) return true;
  }
  return false;
}

void replay_prepare(const struct plan* plan, size_t first, const char* path,
                    struct replay_buffer* buffer) {
  hid_t handle = replay_create_file(path, plan->file[first].page_bytes);
  for (size_t i = first; i < plan->files; i++) {
    const struct plan_file* file = &plan->file[i];
    if (file->create || strcmp(file->path, plan->file[first].path) != 0) continue;
    for (size_t j = 0; j < file->datasets; j++)
      if (!named_before(plan, first, i, j))
        prepare_dataset(handle, file, &file->dataset[j], buffer);
  }
  replay_need(H5Fclose(handle), path, "cannot close");
}
