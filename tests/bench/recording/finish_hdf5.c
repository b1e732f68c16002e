/* finish_hdf5 FILES WRITES SECONDS FOLDER: an HDF5 program of about SECONDS, for bench_finish.py.
 * The ranks compute for SECONDS in all, in equal parts before each of FILES shared files, and write
 * WRITES rows each to a dataset in it, one by one. The work is the same whatever the I/O takes.
 * Writes the moment at which it is done to FOLDER/last.RANK, nanoseconds of CLOCK_MONOTONIC. */
#include <hdf5.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kColumns = 64 };

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void compute(double seconds) {
  const uint64_t until = now_ns() + (uint64_t)(seconds * 1e9);
  while (now_ns() < until) {
  }
}

static int write_file(const char* name, hsize_t writes, int rank, int ranks) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  const hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  const hsize_t dims[2] = {writes * (hsize_t)ranks, kColumns}, row[2] = {1, kColumns};
  const hid_t space = H5Screate_simple(2, dims, NULL), memory = H5Screate_simple(2, row, NULL);
  const hid_t data =
      H5Dcreate2(file, "ez", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (file < 0 || space < 0 || memory < 0 || data < 0) return 1;
  static double values[kColumns];
  for (hsize_t i = 0; i < writes; ++i) {
    const hsize_t start[2] = {i * (hsize_t)ranks + (hsize_t)rank, 0};
    if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, row, NULL) < 0) return 1;
    if (H5Dwrite(data, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values) < 0) return 1;
  }
  H5Dclose(data);
  H5Sclose(space);
  H5Sclose(memory);
  H5Pclose(access);
  return H5Fclose(file) < 0 ? 1 : 0;
}

int main(int count, char** words) {
  if (count != 5) return 2;
  MPI_Init(&count, &words);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const long files = atol(words[1]);
  const hsize_t writes = strtoull(words[2], NULL, 10);
  char name[4096];
  for (long f = 0; f < files; ++f) {
    compute(atof(words[3]) / (double)files);
    snprintf(name, sizeof name, "%s/ez-%06ld.h5", words[4], f);
    if (write_file(name, writes, rank, ranks) != 0) MPI_Abort(MPI_COMM_WORLD, 3);
  }
  const uint64_t last = now_ns();
  snprintf(name, sizeof name, "%s/last.%d", words[4], rank);
  FILE* const said = fopen(name, "w");
  fprintf(said, "%llu\n", (unsigned long long)last);
  fclose(said);
  MPI_Finalize();
  return 0;
}
