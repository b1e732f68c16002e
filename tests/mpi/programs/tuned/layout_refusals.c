/* Creates datasets that HDF5 may refuse to give another layout, under an error handler of its own.
 *   layout_refusals FILE [--serial] [--mixed] [--large]
 * Prints "name value" lines: of each dataset whether it was made, its layout and fill time, and how
 * often the handler was called. --serial: each rank has a file of its own, FILE.RANK.
 * --mixed: rank 1 makes "numbers" of texts, which HDF5 may refuse there alone, and all ends.
 * --large: only "many", of a million bytes and more, and "huge", of 4 GiB that are never written.
 */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUST(condition)                                                  \
  do {                                                                   \
    if (!(condition)) {                                                  \
      fprintf(stderr, "layout_refusals:%d: %s\n", __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 9);                                      \
    }                                                                    \
  } while (0)

enum { kRows = 64 };
static int rank, ranks, mixed, handler_calls;
static hsize_t rows;
static ssize_t frames;

static herr_t on_error(hid_t stack, void* calls) {
  ++*(int*)calls;
  frames = H5Eget_num(stack);
  return 0;
}

static hid_t create(hid_t file, const char* name, const char* said, hid_t type, int growing,
                    hid_t dcpl) {
  const hsize_t dims[1] = {rows}, most[1] = {H5S_UNLIMITED};
  hid_t space = H5Screate_simple(1, dims, growing ? most : NULL);
  MUST(space >= 0);
  handler_calls = 0;
  frames = 0;
  hid_t data = H5Dcreate2(file, name, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
  const int calls = handler_calls;
  const int deep = frames > 2;
  H5Sclose(space);
  int layout = -1;
  H5D_fill_time_t fill = H5D_FILL_TIME_ERROR;
  if (data >= 0) {
    hid_t made = H5Dget_create_plist(data);
    layout = H5Pget_layout(made);
    MUST(H5Pget_fill_time(made, &fill) >= 0);
    H5Pclose(made);
  }
  char label[64];
  snprintf(label, sizeof label, mixed ? "%s.%d" : "%s", said, rank);
  if (rank == 0 || mixed)
    printf("%s %s,layout=%d,fill=%d,handler=%d,frames=%d\n", label, data >= 0 ? "made" : "failed",
           layout, (int)fill, calls, deep);
  fflush(stdout);
  return data;
}

static void close_dataset(hid_t data) {
  if (data >= 0) MUST(H5Dclose(data) >= 0);
}

int main(int argc, char** argv) {
  MUST(MPI_Init(&argc, &argv) == MPI_SUCCESS);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int serial = 0, large = 0;
  for (int i = 2; i < argc; ++i) {
    if (strcmp(argv[i], "--serial") == 0) serial = 1;
    if (strcmp(argv[i], "--mixed") == 0) mixed = 1;
    if (strcmp(argv[i], "--large") == 0) large = 1;
  }
  char path[4096];
  snprintf(path, sizeof path, serial ? "%s.%d" : "%s", argv[1], rank);
  hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
  if (!serial) MUST(H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0);
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
  MUST(file >= 0);
  MUST(H5Eset_auto2(H5E_DEFAULT, on_error, &handler_calls) >= 0);
  if (large) {
    rows = ((hsize_t)1 << 20) + 1;
    close_dataset(create(file, "many", "many", H5T_NATIVE_CHAR, 0, H5P_DEFAULT));
    rows = (hsize_t)1 << 31;
    close_dataset(create(file, "huge", "huge", H5T_NATIVE_SHORT, 0, H5P_DEFAULT));
    H5Pclose(fapl);
    MUST(H5Fclose(file) >= 0);
    MPI_Finalize();
    return 0;
  }
  rows = (hsize_t)ranks * kRows;
  hid_t text_type = H5Tcopy(H5T_C_S1);
  MUST(H5Tset_size(text_type, H5T_VARIABLE) >= 0);
  hid_t type = mixed && rank == 1 ? text_type : H5T_NATIVE_INT;
  hid_t numbers = create(file, "numbers", "numbers", type, 0, H5P_DEFAULT);
  if (mixed) {
    MPI_Barrier(MPI_COMM_WORLD);
    _exit(0);
  }
  close_dataset(create(file, "texts", "texts", text_type, 0, H5P_DEFAULT));
  /* The same name again, and dimensions that grow without chunks: errors of the program itself. */
  close_dataset(create(file, "numbers", "again", H5T_NATIVE_INT, 0, H5P_DEFAULT));
  close_dataset(create(file, "growing", "growing", H5T_NATIVE_INT, 1, H5P_DEFAULT));
  hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
  MUST(H5Pset_fill_time(dcpl, H5D_FILL_TIME_ALLOC) >= 0);
  close_dataset(create(file, "filled", "filled", H5T_NATIVE_INT, 0, dcpl));
  MUST(H5Pclose(dcpl) >= 0);
  dcpl = H5Pcreate(H5P_DATASET_CREATE);
  MUST(H5Pset_shuffle(dcpl) >= 0);
  close_dataset(create(file, "filtered", "filtered", H5T_NATIVE_INT, 0, dcpl));

  hsize_t start[1] = {(hsize_t)rank * kRows}, count[1] = {kRows};
  hid_t space = H5Dget_space(numbers), memory = H5Screate_simple(1, count, NULL);
  MUST(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0);
  int values[kRows];
  for (int i = 0; i < kRows; ++i) values[i] = rank * kRows + i;
  MUST(H5Dwrite(numbers, H5T_NATIVE_INT, memory, space, H5P_DEFAULT, values) >= 0);
  MUST(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0);
  memset(values, 0, sizeof values);
  MUST(H5Dread(numbers, H5T_NATIVE_INT, memory, space, H5P_DEFAULT, values) >= 0);
  for (int i = 0; i < kRows; ++i) MUST(values[i] == rank * kRows + i);
  H5Sclose(space);
  H5Sclose(memory);
  close_dataset(numbers);
  H5Tclose(text_type);
  H5Pclose(dcpl);
  H5Pclose(fapl);
  MUST(H5Fclose(file) >= 0);
  MPI_Finalize();
  return 0;
}
