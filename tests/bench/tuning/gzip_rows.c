/* A serial program that reads a gzip-chunked dataset row by row: `gzip_rows write FILE`, then
 * `gzip_rows read FILE`, which prints seconds and the sum of all elements. A row crosses eight
 * chunks of 1 MiB, more than HDF5's default cache holds. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROWS = 256, COLUMNS = 8192, CHUNK_ROWS = 128, CHUNK_COLUMNS = 1024 };

static int check(hid_t id, const char* what) {
  if (id >= 0) return 0;
  fprintf(stderr, "gzip_rows: %s\n", what);
  exit(1);
}

static void write_file(const char* path) {
  hsize_t dims[2] = {ROWS, COLUMNS}, chunk[2] = {CHUNK_ROWS, CHUNK_COLUMNS};
  double* all = malloc(sizeof(double) * ROWS * COLUMNS);
  if (all == NULL) exit(1);
  unsigned state = 1;
  for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++) {
    state = state * 1664525u + 1013904223u;
    all[i] = (double)(state >> 20);
  }
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t space = H5Screate_simple(2, dims, NULL), creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(creation, 2, chunk);
  H5Pset_deflate(creation, 4);
  hid_t dataset =
      H5Dcreate2(file, "/rows", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  check(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, all), "write");
  H5Dclose(dataset);
  H5Pclose(creation);
  H5Sclose(space);
  check(H5Fclose(file), "close");
  free(all);
}

static void read_file(const char* path) {
  static double row[COLUMNS];
  struct timespec from, to;
  double sum = 0;
  clock_gettime(CLOCK_MONOTONIC, &from);
  hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  check(file, "open");
  hid_t dataset = H5Dopen2(file, "/rows", H5P_DEFAULT);
  check(dataset, "dataset");
  hid_t space = H5Dget_space(dataset);
  hsize_t start[2] = {0, 0}, count[2] = {1, COLUMNS};
  hid_t memory = H5Screate_simple(2, count, NULL);
  for (; start[0] < ROWS; start[0]++) {
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    check(H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, row), "read");
    for (int i = 0; i < COLUMNS; i++) sum += row[i];
  }
  H5Sclose(memory);
  H5Sclose(space);
  H5Dclose(dataset);
  check(H5Fclose(file), "close");
  clock_gettime(CLOCK_MONOTONIC, &to);
  printf("%.6f %.0f\n",
         (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec), sum);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  if (strcmp(argv[1], "write") == 0)
    write_file(argv[2]);
  else
    read_file(argv[2]);
  return 0;
}
