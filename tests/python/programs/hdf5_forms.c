/* Parallel transfers by other calls than H5Dwrite and H5Dread: chunks as they
 * lie in the file, and from HDF5 1.14 on several datasets at once, and what is
 * begun and waited for. Usage: mpirun -n N hdf5_forms DIR */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 6, COLUMNS = 8, STEPS = 3, SETS = 3 };
static double data[SETS][ROWS * COLUMNS];
static int rank, size;

static void must(int good, int line) {
  if (good) return;
  fprintf(stderr, "hdf5_forms:%d\n", line);
  MPI_Abort(MPI_COMM_WORLD, 3);
}
#define MUST(condition) must((condition), __LINE__)

static hid_t created(const char* dir, const char* name) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  H5Pclose(access);
  MUST(file >= 0);
  return file;
}

/* Each rank's chunks, one by one, and a row of elements read back. */
static void chunks(const char* dir) {
  const hsize_t dims[2] = {(hsize_t)(ROWS * size), 2 * COLUMNS - 3}, chunk[2] = {ROWS, COLUMNS};
  hid_t file = created(dir, "chunks.h5"), space = H5Screate_simple(2, dims, NULL);
  hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(creation, 2, chunk);
  hid_t set =
      H5Dcreate2(file, "field", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  for (int k = 0; k < 2; k++) {
    const hsize_t at[2] = {(hsize_t)(ROWS * rank), (hsize_t)(COLUMNS * k)};
    MUST(H5Dwrite_chunk(set, H5P_DEFAULT, 0, at, sizeof data[0], data[0]) >= 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const hsize_t at[2] = {(hsize_t)(ROWS * rank), 0}, count[2] = {1, COLUMNS};
  hid_t memory = H5Screate_simple(2, count, NULL);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, at, NULL, count, NULL);
  MUST(H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data[1]) >= 0);
  uint32_t filters = 0;
#if H5_VERSION_GE(2, 0, 0)
  MUST(H5Dread_chunk1(set, H5P_DEFAULT, at, &filters, data[1]) >= 0);
#else
  MUST(H5Dread_chunk(set, H5P_DEFAULT, at, &filters, data[1]) >= 0);
#endif
  H5Sclose(memory);
  H5Sclose(space);
  H5Pclose(creation);
  H5Dclose(set);
  H5Fclose(file);
}

#if H5_VERSION_GE(1, 14, 0)
static void several_and_begun(const char* dir) {
  const hsize_t dims[2] = {(hsize_t)(STEPS * size), COLUMNS}, row[2] = {1, COLUMNS};
  hid_t file = created(dir, "several.h5"), events = H5EScreate();
  hid_t set[SETS], type[SETS], memory[SETS], space[SETS];
  const void* from[SETS];
  void* to[SETS];
  size_t left;
  hbool_t failed;
  for (int i = 0; i < SETS; i++) {
    char name[16];
    snprintf(name, sizeof name, "set%d", i);
    type[i] = H5T_NATIVE_DOUBLE;
    space[i] = H5Screate_simple(2, dims, NULL);
    memory[i] = H5Screate_simple(2, row, NULL);
    set[i] = H5Dcreate2(file, name, type[i], space[i], H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    from[i] = to[i] = data[i];
  }
  hid_t collective = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_dxpl_mpio(collective, H5FD_MPIO_COLLECTIVE);
  for (int step = 0; step < STEPS; step++) {
    const hsize_t at[2] = {(hsize_t)(step * size + rank), 0};
    for (int i = 0; i < SETS; i++)
      H5Sselect_hyperslab(space[i], H5S_SELECT_SET, at, NULL, row, NULL);
    MUST(H5Dwrite_multi(SETS, set, type, memory, space, collective, from) >= 0);
    MUST(H5Dread_multi(2, set, type, memory, space, H5P_DEFAULT, to) >= 0);
    for (int i = 0; i < SETS; i++)
      MUST(H5Dwrite_async(set[i], type[i], memory[i], space[i], H5P_DEFAULT, data[i], events) >= 0);
    MUST(H5ESwait(events, H5ES_WAIT_FOREVER, &left, &failed) >= 0 && !failed);
    MUST(H5Dread_async(set[0], type[0], memory[0], space[0], collective, data[0], events) >= 0);
    MUST(H5ESwait(events, H5ES_WAIT_FOREVER, &left, &failed) >= 0 && !failed);
  }
  MUST(H5Dwrite_multi_async(2, set, type, memory, space, collective, from, events) >= 0);
  MUST(H5ESwait(events, H5ES_WAIT_FOREVER, &left, &failed) >= 0 && !failed);
  H5Pclose(collective);
  for (int i = 0; i < SETS; i++) {
    H5Sclose(memory[i]);
    H5Sclose(space[i]);
    H5Dclose(set[i]);
  }
  H5ESclose(events);
  H5Fclose(file);
}
#endif

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  chunks(argv[1]);
#if H5_VERSION_GE(1, 14, 0)
  several_and_begun(argv[1]);
#endif
  MPI_Finalize();
  return 0;
}
