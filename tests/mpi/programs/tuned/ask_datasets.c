/* Makes two datasets through HDF5's MPI-IO driver, writes them collectively, reads them back,
 * and prints what each dataset and each transfer really had.
 *   ask_datasets FILE [--own | --same] [--three] [--uneven] [--convert] [--convert-b] [--many]
 * [--abort]
 * --own chunks the datasets and sizes their caches itself, --three gives them three dimensions.
 * --same sets the caches of the file and of its datasets to the values that the lists hold.
 * --abort ends behind the writes. --convert stores in the other byte order: HDF5 takes such
 * transfers apart; --convert-b does so with the second dataset alone. --many makes 40 more
 * datasets.
 * --uneven: rank 0 alone asks for HDF5's default of low-level transfers explicitly, and takes and
 * gives back a second reference to the file. Rank 0 prints "name value" lines. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#ifdef ASK_BY_ASYNC_FORMS
#include "async_forms.h"
#endif

#define MUST(condition)                                               \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "ask_datasets:%d: %s\n", __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 9);                                   \
    }                                                                 \
  } while (0)

enum { kRows = 256 };
static int rank, ranks;

static void print_dataset(const char* name, hid_t data) {
  hid_t dcpl = H5Dget_create_plist(data), dapl = H5Dget_access_plist(data);
  MUST(dcpl >= 0 && dapl >= 0);
  hsize_t chunk[4] = {0, 0, 0, 0};
  const int chunked = H5Pget_layout(dcpl) == H5D_CHUNKED;
  if (chunked) MUST(H5Pget_chunk(dcpl, 4, chunk) >= 0);
  size_t slots = 0, bytes = 0;
  double w0 = 0;
  MUST(H5Pget_chunk_cache(dapl, &slots, &bytes, &w0) >= 0);
  if (rank == 0) {
    printf("%s.chunk %llu\n", name, chunked ? (unsigned long long)chunk[0] : 0ULL);
    printf("%s.chunk_cache %zu\n", name, bytes);
    printf("%s.chunk_slots %zu\n", name, slots);
  }
  H5Pclose(dcpl);
  H5Pclose(dapl);
}

static void transfer(hid_t data, int dimensions, int write, int uneven) {
  hsize_t start[3] = {(hsize_t)rank * kRows, 0, 0}, count[3] = {kRows, 2, 2};
  hid_t space = H5Dget_space(data), memory = H5Screate_simple(dimensions, count, NULL);
  MUST(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0);
  hid_t mode = H5Pcreate(H5P_DATASET_XFER), before;
  MUST(H5Pset_dxpl_mpio(mode, H5FD_MPIO_COLLECTIVE) >= 0);
  if (uneven && rank == 0)
    MUST(H5Pset_dxpl_mpio_collective_opt(mode, H5FD_MPIO_COLLECTIVE_IO) >= 0);
  before = H5Pcopy(mode);
  static int values[kRows * 4];
  const int n = dimensions == 1 ? kRows : kRows * 4;
  for (int i = 0; i < n; ++i) values[i] = write ? rank * n + i : -1;
  if (write)
    MUST(H5Dwrite(data, H5T_NATIVE_INT, memory, space, mode, values) >= 0);
  else
    MUST(H5Dread(data, H5T_NATIVE_INT, memory, space, mode, values) >= 0);
  for (int i = 0; i < n; ++i) MUST(values[i] == rank * n + i);
  H5D_mpio_actual_io_mode_t actual;
  MUST(H5Pget_mpio_actual_io_mode(mode, &actual) >= 0);
  /* The program's list keeps what the program set. */
  int own = -1, kept = -1;
  MUST(H5Pget(before, "mpio_collective_opt", &own) >= 0);
  MUST(H5Pget(mode, "mpio_collective_opt", &kept) >= 0);
  MUST(own == kept);
  if (rank == 0) printf("%s.actual %d\n", write ? "write" : "read", (int)actual);
  H5Pclose(before);
  H5Pclose(mode);
  H5Sclose(space);
  H5Sclose(memory);
}

static void set_what_is_set(hid_t fapl, hid_t dapl) {
  int elements = 0;
  size_t slots = 0, bytes = 0;
  double w0 = 0;
  MUST(H5Pget_cache(fapl, &elements, &slots, &bytes, &w0) >= 0);
  MUST(H5Pset_cache(fapl, elements, slots, bytes, w0) >= 0);
  MUST(H5Pget_chunk_cache(dapl, &slots, &bytes, &w0) >= 0);
  MUST(H5Pset_chunk_cache(dapl, slots, bytes, w0) >= 0);
}

int main(int argc, char** argv) {
  MUST(MPI_Init(&argc, &argv) == MPI_SUCCESS);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int own = 0, same = 0, dimensions = 1, uneven = 0, abort = 0, many = 0;
  hid_t stored = H5T_NATIVE_INT, stored_b = H5T_NATIVE_INT;
  for (int i = 2; i < argc; ++i) {
    if (strcmp(argv[i], "--own") == 0) own = 1;
    if (strcmp(argv[i], "--same") == 0) same = 1;
    if (strcmp(argv[i], "--uneven") == 0) uneven = 1;
    if (strcmp(argv[i], "--abort") == 0) abort = 1;
    if (strcmp(argv[i], "--three") == 0) dimensions = 3;
    if (strcmp(argv[i], "--many") == 0) many = 40;
    if (strcmp(argv[i], "--convert") == 0) stored = stored_b = H5T_STD_I32BE;
    if (strcmp(argv[i], "--convert-b") == 0) stored_b = H5T_STD_I32BE;
  }
  hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), dcpl = H5Pcreate(H5P_DATASET_CREATE);
  hid_t dapl = H5Pcreate(H5P_DATASET_ACCESS);
  MUST(H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0);
  if (same) set_what_is_set(fapl, dapl);
  hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
  MUST(file >= 0);
  hsize_t dims[3] = {(hsize_t)ranks * kRows, 2, 2}, chunk[3] = {100, 2, 2};
  hid_t space = H5Screate_simple(dimensions, dims, NULL);
  if (own) {
    MUST(H5Pset_chunk(dcpl, dimensions, chunk) >= 0);
    MUST(H5Pset_chunk_cache(dapl, 101, 4000, 0.5) >= 0);
  }
  if (uneven && rank == 0) MUST(H5Fclose(H5Iget_file_id(file)) >= 0);
  hid_t group = H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  hid_t a = H5Dcreate2(file, "a", stored, space, H5P_DEFAULT, own ? dcpl : H5P_DEFAULT,
                       own ? dapl : H5P_DEFAULT);
  hid_t b = H5Dcreate2(group, "b", stored_b, space, H5P_DEFAULT, dcpl, dapl);
  MUST(group >= 0 && a >= 0 && b >= 0);
  for (int i = 0; i < many; ++i) {
    char name[16];
    snprintf(name, sizeof name, "more%d", i);
    hid_t one = H5Dcreate2(file, name, stored, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    MUST(one >= 0);
    H5Dclose(one);
  }
  print_dataset("a", a);
  print_dataset("b", b);
  transfer(a, dimensions, 1, uneven);
  transfer(b, dimensions, 1, uneven);
  if (abort) {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Abort(MPI_COMM_WORLD, 7);
  }
  H5Dclose(a);
  H5Dclose(b);
  H5Gclose(group);
  MUST(H5Fclose(file) >= 0);
  file = H5Fopen(argv[1], H5F_ACC_RDONLY, fapl);
  MUST(file >= 0);
  if (rank == 0) printf("reopened\n");
  a = H5Dopen2(file, "a", H5P_DEFAULT);
  b = H5Dopen2(file, "/group/b", own || same ? dapl : H5P_DEFAULT);
  MUST(a >= 0 && b >= 0);
  print_dataset("a", a);
  print_dataset("b", b);
  transfer(a, dimensions, 0, uneven);
  transfer(b, dimensions, 0, uneven);
  /* A dataset that is not there: the error stack is HDF5's own. */
  H5E_auto2_t handler;
  void* data;
  H5Eget_auto2(H5E_DEFAULT, &handler, &data);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  MUST(H5Dopen2(file, "missing", H5P_DEFAULT) < 0);
  MUST(H5Eget_num(H5E_DEFAULT) > 0);
  H5Eset_auto2(H5E_DEFAULT, handler, data);
  H5Dclose(a);
  H5Dclose(b);
  /* As h5py opens datasets: without an access list. */
  hid_t object = H5Oopen(file, "a", H5P_DEFAULT);
  MUST(object >= 0);
  print_dataset("object", object);
  H5Oclose(object);
  MUST(H5Fclose(file) >= 0);
  H5Pclose(fapl);
  H5Pclose(dcpl);
  H5Pclose(dapl);
  H5Sclose(space);
  MPI_Finalize();
  return 0;
}
