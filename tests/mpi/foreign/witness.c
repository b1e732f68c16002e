/* A witness of what a program really moves, apart from iotune: preloaded into a run of its own, it
 * asks HDF5 for the selection of every H5Dread and H5Dwrite that succeeded, and writes one JSON
 * line each to $WITNESS_DIR/RANK. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

typedef herr_t (*transfer_fn)(hid_t, hid_t, hid_t, hid_t, hid_t, void*);

static void numbers(FILE* out, const hsize_t* values, hsize_t n) {
  fputc('[', out);
  for (hsize_t i = 0; i < n; i++)
    fprintf(out, "%s%llu", i ? "," : "", (unsigned long long)values[i]);
  fputc(']', out);
}

/* First and last corner of every block, one behind the other; a point is both. */
static void selection(FILE* out, hid_t space, int rank) {
  hsize_t corners[2 * H5S_MAX_RANK], *list = NULL, blocks = 0;
  H5S_sel_type kind = H5Sget_select_type(space);
  if (kind == H5S_SEL_HYPERSLABS) {
    blocks = (hsize_t)H5Sget_select_hyper_nblocks(space);
    list = malloc((size_t)blocks * 2 * (size_t)rank * sizeof *list);
    H5Sget_select_hyper_blocklist(space, 0, blocks, list);
  } else if (kind == H5S_SEL_POINTS) {
    hsize_t points = (hsize_t)H5Sget_select_elem_npoints(space);
    list = malloc((size_t)points * 2 * (size_t)rank * sizeof *list);
    for (; blocks < points; blocks++)
      for (int end = 0; end < 2; end++)
        H5Sget_select_elem_pointlist(space, blocks, 1, list + (2 * blocks + end) * rank);
  } else if (kind == H5S_SEL_ALL && H5Sget_select_npoints(space) > 0) {
    blocks = 1;
    H5Sget_simple_extent_dims(space, corners + rank, NULL);
    for (int d = 0; d < rank; d++) {
      corners[d] = 0;
      corners[rank + d]--;
    }
  }
  if (rank == 0 && blocks) { /* a scalar: one element of one dimension */
    corners[0] = corners[1] = 0;
    rank = 1;
  }
  numbers(out, list ? list : corners, blocks * 2 * (hsize_t)rank);
  free(list);
}

/* The bytes of a transfer are those of its own memory type. */
static void note(const char* what, hid_t dataset, hid_t type, hid_t file_space) {
  const char* where = getenv("WITNESS_DIR");
  if (!where) return;
  char path[4096], file[4096], name[1024] = "?";
  int process = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  snprintf(path, sizeof path, "%s/%d", where, process);
  FILE* out = fopen(path, "a");
  if (!out) abort();
  H5Fget_name(dataset, file, sizeof file);
  H5Iget_name(dataset, name, sizeof name);
  hid_t own = H5Dget_space(dataset), space = file_space == H5S_ALL ? own : file_space;
  hsize_t dims[H5S_MAX_RANK];
  int rank = H5Sget_simple_extent_dims(own, dims, NULL);
  fprintf(out, "{\"file\":\"%s\",\"dataset\":\"%s\",\"write\":%s,\"element\":%zu,\"dims\":", file,
          name, what, H5Tget_size(type));
  numbers(out, dims, (hsize_t)rank);
  fputs(",\"corners\":", out);
  selection(out, space, rank);
  fputs("}\n", out);
  fclose(out);
  H5Sclose(own);
}

static herr_t pass(const char* symbol, const char* what, hid_t dataset, hid_t mem_type,
                   hid_t mem_space, hid_t file_space, hid_t plist, void* buffer) {
  union {
    void* address;
    transfer_fn call;
  } next = {dlsym(RTLD_NEXT, symbol)};
  herr_t done = next.call(dataset, mem_type, mem_space, file_space, plist, buffer);
  if (done >= 0) note(what, dataset, mem_type, file_space);
  return done;
}

herr_t H5Dwrite(hid_t dataset, hid_t mem_type, hid_t mem_space, hid_t file_space, hid_t plist,
                const void* buffer) {
  return pass("H5Dwrite", "true", dataset, mem_type, mem_space, file_space, plist, (void*)buffer);
}

herr_t H5Dread(hid_t dataset, hid_t mem_type, hid_t mem_space, hid_t file_space, hid_t plist,
               void* buffer) {
  return pass("H5Dread", "false", dataset, mem_type, mem_space, file_space, plist, buffer);
}
