#include "kernel_io.h"

#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5_failure.h"

static const char* program = "kernel";

void kernel_io_begin(const char* name) {
  program = name;
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void kernel_fail(const char* file, const char* what) {
  hdf5_fail(program, file, what);
}

static hid_t need(hid_t id, const char* file, const char* what) {
  if (id < 0) kernel_fail(file, what);
  return id;
}

static hid_t parallel_access(const char* path) {
  hid_t access = need(H5Pcreate(H5P_FILE_ACCESS), path, "no file access list");
  need(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL), path, "no MPI-IO driver");
  return access;
}

hid_t kernel_file_create(const char* path) {
  hid_t access = parallel_access(path);
  hid_t file = need(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access), path, "cannot create");
  H5Pclose(access);
  return file;
}

hid_t kernel_file_open(const char* path) {
  hid_t access = parallel_access(path);
  hid_t file = need(H5Fopen(path, H5F_ACC_RDONLY, access), path, "cannot open");
  H5Pclose(access);
  return file;
}

void kernel_file_close(hid_t file, const char* path) {
  need(H5Fclose(file), path, "cannot close");
}

static hid_t element_type(enum kernel_element element) {
  switch (element) {
    case KERNEL_UINT8:
      return H5T_NATIVE_UINT8;
    case KERNEL_INT32:
      return H5T_NATIVE_INT32;
    case KERNEL_INT64:
      return H5T_NATIVE_INT64;
    case KERNEL_FLOAT32:
      return H5T_NATIVE_FLOAT;
    case KERNEL_FLOAT64:
      return H5T_NATIVE_DOUBLE;
  }
  return H5I_INVALID_HID;
}

static void fail_dataset(const char* path, const struct kernel_dataset* dataset, const char* what) {
  char text[128];
  snprintf(text, sizeof text, "dataset %s %s", dataset->path, what);
  kernel_fail(path, text);
}

/* Goes on to the next combination of one piece of every axis; false after the last one. */
static bool next_combination(int* at, const int* pieces, int n) {
  for (int d = n - 1; d >= 0; d--) {
    if (++at[d] < pieces[d]) return true;
    at[d] = 0;
  }
  return false;
}

/* Every combination of the axes' pieces is one hyperslab. `rows` (or NULL) names the pieces
 * of the first axis. */
static void select_share(hid_t space, const char* path, const struct kernel_dataset* dataset,
                         const struct kernel_piece* rows) {
  struct kernel_piece piece[KERNEL_MAX_DIMS][2];
  int pieces[KERNEL_MAX_DIMS], at[KERNEL_MAX_DIMS] = {0};
  H5S_seloper_t operation = H5S_SELECT_SET;
  for (int d = 0; d < dataset->ndims; d++)
    pieces[d] = kernel_axis_pieces(&dataset->axis[d], piece[d]);
  if (rows != NULL) piece[0][0] = *rows;
  do {
    hsize_t start[KERNEL_MAX_DIMS], stride[KERNEL_MAX_DIMS];
    hsize_t count[KERNEL_MAX_DIMS], block[KERNEL_MAX_DIMS];
    for (int d = 0; d < dataset->ndims; d++) {
      start[d] = piece[d][at[d]].start;
      stride[d] = piece[d][at[d]].stride;
      count[d] = piece[d][at[d]].count;
      block[d] = piece[d][at[d]].block;
    }
    need(H5Sselect_hyperslab(space, operation, start, stride, count, block), path,
         "cannot select a hyperslab");
    operation = H5S_SELECT_OR;
  } while (next_combination(at, pieces, dataset->ndims));
}

/* The selection in memory: this rank's share, packed. */
static hid_t packed_share(const char* path, const struct kernel_dataset* dataset,
                          const struct kernel_piece* rows) {
  hsize_t dims[KERNEL_MAX_DIMS];
  for (int i = 0; i < dataset->ndims; i++) dims[i] = kernel_axis_count(&dataset->axis[i]);
  if (rows != NULL) dims[0] = rows->count;
  return need(H5Screate_simple(dataset->ndims, dims, NULL), path, "no memory dataspace");
}

static bool takes_part(const struct kernel_dataset* dataset) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return kernel_dataset_count(dataset) > 0 && (!dataset->first_rank || rank == 0);
}

/* Makes one call. Either `from` or `into` is NULL. `rows` is NULL for the whole share. */
static void transfer_once(hid_t handle, const char* path, const struct kernel_dataset* dataset,
                          const struct kernel_piece* rows, bool collective, const char* from,
                          char* into) {
  bool part = takes_part(dataset) && (rows == NULL || rows->count > 0);
  if (!part && !collective) return;
  hid_t mode = H5P_DEFAULT;
  if (collective) {
    mode = need(H5Pcreate(H5P_DATASET_XFER), path, "no transfer list");
    need(H5Pset_dxpl_mpio(mode, H5FD_MPIO_COLLECTIVE), path, "no collective mode");
  }
  hid_t space = need(H5Dget_space(handle), path, "no dataspace");
  hid_t memory;
  if (part) {
    memory = packed_share(path, dataset, rows);
    select_share(space, path, dataset, rows);
  } else {
    memory = need(H5Screate_simple(1, &(hsize_t){1}, NULL), path, "no memory dataspace");
    H5Sselect_none(memory);
    H5Sselect_none(space);
  }
  hid_t type = element_type(dataset->element);
  herr_t status = into != NULL ? H5Dread(handle, type, memory, space, mode, into)
                               : H5Dwrite(handle, type, memory, space, mode, from);
  if (status < 0)
    fail_dataset(path, dataset, into != NULL ? "cannot be read" : "cannot be written");
  H5Sclose(memory);
  H5Sclose(space);
  if (collective) H5Pclose(mode);
}

/* Every rank makes as many calls as the rank with the most rows needs. */
static void transfer_share(hid_t handle, const char* path, const struct kernel_dataset* dataset,
                           const struct kernel_transfer* transfer, const char* from, char* into) {
  bool collective = transfer->collective && !dataset->first_rank;
  if (transfer->rows == 0 || !dataset->payload) {
    transfer_once(handle, path, dataset, NULL, collective, from, into);
    return;
  }
  const struct kernel_axis* axis = &dataset->axis[0];
  hsize_t own = kernel_axis_count(axis), row = kernel_element_bytes(dataset->element);
  for (int i = 1; i < dataset->ndims; i++) row *= kernel_axis_count(&dataset->axis[i]);
  for (hsize_t done = 0; done < axis->length; done += transfer->rows) {
    hsize_t left = done < own ? own - done : 0;
    struct kernel_piece rows = {axis->part * axis->length + done, 1,
                                left < transfer->rows ? left : transfer->rows, 1};
    hsize_t at = done < own ? done * row : 0;
    transfer_once(handle, path, dataset, &rows, collective, from != NULL ? from + at : NULL,
                  into != NULL ? into + at : NULL);
  }
}

static hid_t creation_list(const char* path, const struct kernel_transfer* transfer) {
  hid_t list = need(H5Pcreate(H5P_DATASET_CREATE), path, "no dataset creation list");
  need(H5Pset_chunk(list, transfer->chunk.n, transfer->chunk.d), path, "no chunks");
  if (transfer->deflate >= 0)
    need(H5Pset_deflate(list, (unsigned)transfer->deflate), path, "no compression");
  return list;
}

void kernel_dataset_write(hid_t file, const char* path, const struct kernel_dataset* dataset,
                          const struct kernel_transfer* transfer, const void* buffer) {
  hsize_t dims[KERNEL_MAX_DIMS];
  for (int i = 0; i < dataset->ndims; i++) dims[i] = dataset->axis[i].extent;
  hid_t space = need(H5Screate_simple(dataset->ndims, dims, NULL), path, "no dataspace");
  hid_t links = need(H5Pcreate(H5P_LINK_CREATE), path, "no link creation list");
  need(H5Pset_create_intermediate_group(links, 1), path, "no intermediate groups");
  bool chunked = dataset->payload && transfer->chunk.n > 0;
  hid_t creation = chunked ? creation_list(path, transfer) : H5P_DEFAULT;
  hid_t handle = H5Dcreate2(file, dataset->path, element_type(dataset->element), space, links,
                            creation, H5P_DEFAULT);
  if (handle < 0) fail_dataset(path, dataset, "cannot be created");
  transfer_share(handle, path, dataset, transfer, buffer, NULL);
  if (H5Dclose(handle) < 0) fail_dataset(path, dataset, "cannot be closed");
  if (chunked) H5Pclose(creation);
  H5Pclose(links);
  H5Sclose(space);
}

static void demand_dims(hid_t handle, const char* path, const struct kernel_dataset* dataset) {
  hsize_t dims[H5S_MAX_RANK] = {0};
  hid_t space = need(H5Dget_space(handle), path, "no dataspace");
  bool same = H5Sget_simple_extent_ndims(space) == dataset->ndims &&
              H5Sget_simple_extent_dims(space, dims, NULL) == dataset->ndims;
  for (int i = 0; same && i < dataset->ndims; i++) same = dims[i] == dataset->axis[i].extent;
  H5Sclose(space);
  if (!same)
    fail_dataset(path, dataset, "has not the dimensions of these ranks, --grid and --size");
}

void kernel_dataset_read(hid_t file, const char* path, const struct kernel_dataset* dataset,
                         const struct kernel_transfer* transfer, void* buffer) {
  hid_t handle = H5Dopen2(file, dataset->path, H5P_DEFAULT);
  if (handle < 0) fail_dataset(path, dataset, "cannot be opened");
  demand_dims(handle, path, dataset);
  transfer_share(handle, path, dataset, transfer, NULL, buffer);
  if (H5Dclose(handle) < 0) fail_dataset(path, dataset, "cannot be closed");
}
