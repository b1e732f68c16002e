/* layer_timer mpi|hdf5|stdio FILE CALLS
 *
 * Small writes through a layer above POSIX, strided; prints nanoseconds of CPU a call.
 *   mpi    MPI_File_write_at of 64 bytes, each with its pwrite, one process
 *   hdf5   H5Dwrite of a row of 128 doubles with its H5Sselect_hyperslab, without MPI
 *   stdio  fwrite of 64 bytes, one behind the other */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int time_mpi(char* path, long calls, double* took) {
  char buffer[64] = "b";
  MPI_File file;
  if (MPI_Init(NULL, NULL) != MPI_SUCCESS) return 1;
  if (MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) !=
      MPI_SUCCESS) {
    return 1;
  }
  /* The second round finds pages that exist, and a pattern that goes on. */
  double began = 0;
  for (int round = 0; round < 2; ++round) {
    began = now();
    for (long i = 0; i < calls; ++i) {
      if (MPI_File_write_at(file, i * 128, buffer, 64, MPI_BYTE, MPI_STATUS_IGNORE) !=
          MPI_SUCCESS) {
        return 1;
      }
    }
  }
  *took = now() - began;
  MPI_File_close(&file);
  return MPI_Finalize() == MPI_SUCCESS ? 0 : 1;
}

static int time_hdf5(const char* path, long calls, double* took) {
  const hsize_t dims[2] = {(hsize_t)calls, 128}, row[2] = {1, 128};
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(2, dims, NULL), memory = H5Screate_simple(2, row, NULL);
  const hid_t data =
      H5Dcreate2(file, "rows", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (file < 0 || space < 0 || memory < 0 || data < 0) return 1;
  static double values[128];
  double began = 0;
  for (int round = 0; round < 2; ++round) {
    began = now();
    for (long i = 0; i < calls; ++i) {
      const hsize_t start[2] = {(hsize_t)i, 0};
      if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, row, NULL) < 0) return 1;
      if (H5Dwrite(data, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values) < 0) return 1;
    }
  }
  *took = now() - began;
  H5Dclose(data);
  H5Sclose(space);
  H5Sclose(memory);
  return H5Fclose(file) < 0 ? 1 : 0;
}

static int time_stdio(const char* path, long calls, double* took) {
  char buffer[64] = "b";
  FILE* const file = fopen(path, "w");
  if (file == NULL) return 1;
  double began = 0;
  for (int round = 0; round < 2; ++round) {
    began = now();
    for (long i = 0; i < calls; ++i) {
      if (fwrite(buffer, 1, sizeof buffer, file) != sizeof buffer) return 1;
    }
  }
  *took = now() - began;
  return fclose(file) == 0 ? 0 : 1;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const long calls = atol(argv[3]);
  double took = 0;
  int failed = 2;
  if (strcmp(argv[1], "mpi") == 0) failed = time_mpi(argv[2], calls, &took);
  if (strcmp(argv[1], "hdf5") == 0) failed = time_hdf5(argv[2], calls, &took);
  if (strcmp(argv[1], "stdio") == 0) failed = time_stdio(argv[2], calls, &took);
  if (failed == 0) printf("%.3f\n", took / (double)calls);
  return failed;
}
