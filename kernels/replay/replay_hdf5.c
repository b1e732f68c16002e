#include "replay_hdf5.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5_failure.h"
#include "replay_forms.h"
#include "replay_formula.h"

void replay_fail(const char* file, const char* what) {
  hdf5_fail("iotune-replay", file, what);
}

hid_t replay_need(hid_t id, const char* file, const char* what) {
  if (id < 0) replay_fail(file, what);
  return id;
}

void replay_fail_dataset(const struct plan_file* file, const struct plan_dataset* dataset,
                         const char* what) {
  char text[512];
  snprintf(text, sizeof text, "dataset %.200s %s", dataset->path, what);
  replay_fail(file->path, text);
}

static hid_t access_list(const char* path) {
  hid_t access = replay_need(H5Pcreate(H5P_FILE_ACCESS), path, "no file access list");
#ifdef H5_HAVE_PARALLEL
  replay_need(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL), path, "no MPI-IO driver");
#endif
  return access;
}

hid_t replay_create_file(const char* path, long long page_bytes) {
  hid_t access = access_list(path);
  hid_t creation = replay_need(H5Pcreate(H5P_FILE_CREATE), path, "no file creation list");
#if H5_VERSION_GE(1, 10, 1)
  if (page_bytes > 0) {
    replay_need(H5Pset_file_space_strategy(creation, H5F_FSPACE_STRATEGY_PAGE, 0, 1), path,
                "no paged file space");
    replay_need(H5Pset_file_space_page_size(creation, (hsize_t)page_bytes), path, "no such pages");
  }
#else
  if (page_bytes > 0) replay_fail(path, "this HDF5 makes no files in pages");
#endif
  hid_t handle =
      replay_need(H5Fcreate(path, H5F_ACC_TRUNC, creation, access), path, "cannot create");
  H5Pclose(creation);
  H5Pclose(access);
  return handle;
}

hid_t replay_open_file(const char* path, bool writes) {
  hid_t access = access_list(path);
  unsigned mode = writes ? H5F_ACC_RDWR : H5F_ACC_RDONLY;
  hid_t handle = replay_need(H5Fopen(path, mode, access), path, "cannot open");
  H5Pclose(access);
  return handle;
}

/* Of so many bytes, or -1; the caller closes it. */
static hid_t number_type(bool real, bool sign, size_t bytes) {
  switch (bytes) {
    case 1:
      return real ? -1 : H5Tcopy(sign ? H5T_NATIVE_INT8 : H5T_NATIVE_UINT8);
    case 2:
      return real ? -1 : H5Tcopy(sign ? H5T_NATIVE_INT16 : H5T_NATIVE_UINT16);
    case 4:
      return H5Tcopy(real ? H5T_NATIVE_FLOAT : sign ? H5T_NATIVE_INT32 : H5T_NATIVE_UINT32);
    case 8:
      return H5Tcopy(real ? H5T_NATIVE_DOUBLE : sign ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64);
    default:
      return -1;
  }
}

/* The caller closes it. */
static hid_t element_type(const struct plan_dataset* dataset) {
  H5T_class_t class = dataset->element_class;
  hid_t type = -1;
  if (class == H5T_STRING) {
    type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, dataset->element_bytes);
  } else {
    type = number_type(class == H5T_FLOAT, class == H5T_INTEGER, dataset->element_bytes);
  }
  return type >= 0 ? type : H5Tcreate(H5T_OPAQUE, dataset->element_bytes);
}

hid_t replay_create_dataset(hid_t handle, const struct plan_file* file,
                            const struct plan_dataset* dataset) {
  const char* path = file->path;
  hid_t type = replay_need(element_type(dataset), path, "no element type");
  hid_t space = replay_space(file, dataset);
  hid_t links = replay_need(H5Pcreate(H5P_LINK_CREATE), path, "no link creation list");
  replay_need(H5Pset_create_intermediate_group(links, 1), path, "no intermediate groups");
  hid_t creation = H5P_DEFAULT;
  if (dataset->chunked) {
    creation = replay_need(H5Pcreate(H5P_DATASET_CREATE), path, "no dataset creation list");
    replay_need(H5Pset_chunk(creation, dataset->ndims, dataset->chunk), path, "no chunks");
    if (dataset->deflate >= 0)
      replay_need(H5Pset_deflate(creation, (unsigned)dataset->deflate), path, "no compression");
  }
  hid_t id = H5Dcreate2(handle, dataset->path, type, space, links, creation, H5P_DEFAULT);
  if (id < 0) replay_fail_dataset(file, dataset, "cannot be created");
  if (dataset->chunked) H5Pclose(creation);
  H5Pclose(links);
  H5Sclose(space);
  H5Tclose(type);
  return id;
}

hid_t replay_open_dataset(hid_t handle, const struct plan_file* file,
                          const struct plan_dataset* dataset) {
  hid_t id = H5Dopen2(handle, dataset->path, H5P_DEFAULT);
  if (id < 0) replay_fail_dataset(file, dataset, "cannot be opened");
  hid_t type = replay_need(H5Dget_type(id), file->path, "no element type");
  hid_t space = replay_need(H5Dget_space(id), file->path, "no dataspace");
  hsize_t dims[H5S_MAX_RANK] = {0};
  bool same = H5Tget_size(type) == dataset->element_bytes &&
              H5Sget_simple_extent_ndims(space) == dataset->ndims;
  if (same && dataset->ndims > 0) H5Sget_simple_extent_dims(space, dims, NULL);
  for (int i = 0; same && i < dataset->ndims; i++) same = dims[i] == dataset->dims[i];
  if (!same) replay_fail_dataset(file, dataset, "has not the dimensions or elements of the plan");
  /* Reading these would allocate memory that the buffer does not own. */
  if (H5Tdetect_class(type, H5T_VLEN) > 0 || H5Tdetect_class(type, H5T_REFERENCE) > 0 ||
      H5Tis_variable_str(type) > 0)
    replay_fail_dataset(file, dataset, "has elements of variable length or references");
  H5Sclose(space);
  H5Tclose(type);
  return id;
}

/* Selects a repetition in `space`; the memory dataspace is the selection packed. */
hid_t replay_select(hid_t space, const struct plan_file* file, const struct plan_transfer* transfer,
                    hsize_t repetition) {
  const char* path = file->path;
  size_t n = (size_t)file->dataset[transfer->dataset].ndims;
  hsize_t packed[H5S_MAX_RANK] = {0};
  bool box = false; /* memory has the shape of the one slab */
  if (transfer->selection == PLAN_ALL) {
    replay_need(H5Sselect_all(space), path, "cannot select all");
    return replay_need(H5Scopy(space), path, "no memory dataspace");
  }
  replay_need(H5Sselect_none(space), path, "cannot select nothing");
  bool points = transfer->selection == PLAN_POINTS;
  size_t width = points ? n : 4 * n;
  for (size_t i = 0; i < transfer->count; i++) {
    const hsize_t* from = &transfer->place[i * width];
    hsize_t start[H5S_MAX_RANK];
    for (size_t d = 0; d < n; d++)
      start[d] = from[d] + (repetition > 0 ? repetition * (hsize_t)transfer->shift[d] : 0);
    if (points) {
      H5S_seloper_t operation = i == 0 ? H5S_SELECT_SET : H5S_SELECT_APPEND;
      replay_need(H5Sselect_elements(space, operation, 1, start), path, "cannot select a point");
      continue;
    }
    const hsize_t *stride = from + n, *count = stride + n, *block = count + n;
    H5S_seloper_t operation = i == 0 ? H5S_SELECT_SET : H5S_SELECT_OR;
    replay_need(H5Sselect_hyperslab(space, operation, start, stride, count, block), path,
                "cannot select a slab");
    for (size_t d = 0; d < n; d++) packed[d] = count[d] * block[d];
    box = transfer->count == 1;
  }
  hssize_t selected = H5Sget_select_npoints(space);
  hsize_t length = selected > 0 ? (hsize_t)selected : 1;
  hid_t memory = box ? H5Screate_simple((int)n, packed, NULL) : H5Screate_simple(1, &length, NULL);
  replay_need(memory, path, "no memory dataspace");
  if (selected == 0) H5Sselect_none(memory);
  return memory;
}

size_t replay_product(const hsize_t* number, size_t count) {
  size_t product = 1;
  for (size_t i = 0; i < count; i++) product *= (size_t)number[i];
  return product;
}

hid_t replay_space(const struct plan_file* file, const struct plan_dataset* dataset) {
  return replay_need(dataset->ndims == 0 ? H5Screate(H5S_SCALAR)
                                         : H5Screate_simple(dataset->ndims, dataset->dims, NULL),
                     file->path, "no dataspace");
}

static void compare(const struct plan_file* file, const struct plan_dataset* dataset,
                    const uint64_t* index, size_t count, struct replay_buffer* buffer) {
  size_t right =
      replay_formula_check(dataset->path, dataset->element_bytes, index, count, buffer->byte);
  if (right == count) return;
  char text[128];
  snprintf(text, sizeof text, "has a wrong element at row-major index %llu",
           (unsigned long long)index[right]);
  replay_fail_dataset(file, dataset, text);
}

/* One H5Dwrite or H5Dread of the selection in `space`, or the beginning of one. */
void replay_move(hid_t id, const struct plan_file* file, const struct plan_dataset* dataset,
                 bool write, bool asynchronous, hid_t memory, hid_t space, hid_t mode,
                 struct replay_buffer* buffer) {
  size_t count = 0;
  uint64_t* index = NULL;
  if (buffer->verify) {
    index = replay_indices(space, &count);
    if (index == NULL) replay_fail(file->path, "a selection cannot be listed for --verify");
    if (write)
      replay_formula_fill(dataset->path, dataset->element_bytes, index, count, buffer->byte);
    else
      memset(buffer->byte, 0, count * dataset->element_bytes);
  }
  hid_t type = replay_need(H5Dget_type(id), file->path, "no element type");
  buffer->moved += (uint64_t)H5Sget_select_npoints(space) * dataset->element_bytes;
  if (asynchronous) {
    replay_begin(id, file, dataset, write, type, memory, space, mode, buffer->byte);
    if (buffer->verify) replay_wait(file);
  } else {
    herr_t status = write ? H5Dwrite(id, type, memory, space, mode, buffer->byte)
                          : H5Dread(id, type, memory, space, mode, buffer->byte);
    if (status < 0)
      replay_fail_dataset(file, dataset, write ? "cannot be written" : "cannot be read");
  }
  if (buffer->verify && !write) compare(file, dataset, index, count, buffer);
  H5Tclose(type);
  free(index);
}

hid_t replay_mode(const char* path, bool collective) {
  if (!collective) return H5P_DEFAULT;
  hid_t mode = replay_need(H5Pcreate(H5P_DATASET_XFER), path, "no transfer list");
#ifdef H5_HAVE_PARALLEL
  replay_need(H5Pset_dxpl_mpio(mode, H5FD_MPIO_COLLECTIVE), path, "no collective mode");
#endif
  return mode;
}

void replay_close_dataset(hid_t id, const struct plan_file* file,
                          const struct plan_dataset* dataset) {
  if (H5Dclose(id) < 0) replay_fail_dataset(file, dataset, "cannot be closed");
}

/* Its dimensions and elements were looked at when it was opened first. */
hid_t replay_reopen_dataset(hid_t handle, hid_t id, const struct plan_file* file,
                            const struct plan_dataset* dataset) {
  replay_close_dataset(id, file, dataset);
  hid_t again = H5Dopen2(handle, dataset->path, H5P_DEFAULT);
  if (again < 0) replay_fail_dataset(file, dataset, "cannot be opened again");
  return again;
}
