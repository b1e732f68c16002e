/* How far the kernel reads ahead of a program.
 *   few_rows make|read FILE
 * make: a dataset of 4 MiB, and the file on the disk and in no cache. read: its first rows, and
 * the pages of the file that are in memory then are printed. */
#include <fcntl.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MUST(condition)                                           \
  do {                                                            \
    if (!(condition)) {                                           \
      fprintf(stderr, "few_rows:%d: %s\n", __LINE__, #condition); \
      exit(1);                                                    \
    }                                                             \
  } while (0)

enum { kRows = 64, kRowBytes = 65536, kRowsRead = 4, kPageBytes = 4096 };

static char g_row[kRowBytes];

static void make_file(const char* path) {
  const hsize_t dims[2] = {kRows, kRowBytes};
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(2, dims, NULL);
  const hid_t dataset =
      H5Dcreate2(file, "x", H5T_NATIVE_CHAR, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  char* const bytes = malloc((size_t)kRows * kRowBytes);
  MUST(file >= 0 && dataset >= 0 && bytes != NULL);
  memset(bytes, 7, (size_t)kRows * kRowBytes);
  MUST(H5Dwrite(dataset, H5T_NATIVE_CHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) >= 0);
  MUST(H5Dclose(dataset) >= 0 && H5Sclose(space) >= 0 && H5Fclose(file) >= 0);
  free(bytes);
  const int fd = open(path, O_RDONLY);
  MUST(fd >= 0 && fsync(fd) == 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
  MUST(close(fd) == 0);
}

static int pages_in_memory(const char* path) {
  struct stat status;
  const int fd = open(path, O_RDONLY);
  MUST(fd >= 0 && fstat(fd, &status) == 0);
  const size_t bytes = (size_t)status.st_size;
  void* const map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
  unsigned char* const there = malloc(bytes / kPageBytes + 1);
  MUST(map != MAP_FAILED && there != NULL && mincore(map, bytes, there) == 0);
  int pages = 0;
  for (size_t i = 0; i < (bytes + kPageBytes - 1) / kPageBytes; ++i) pages += there[i] & 1;
  free(there);
  MUST(munmap(map, bytes) == 0 && close(fd) == 0);
  return pages;
}

static void read_rows(const char* path) {
  const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t dataset = H5Dopen2(file, "x", H5P_DEFAULT);
  MUST(file >= 0 && dataset >= 0);
  const hsize_t count[2] = {1, kRowBytes};
  const hid_t memory = H5Screate_simple(2, count, NULL);
  const hid_t space = H5Dget_space(dataset);
  for (hsize_t row = 0; row < kRowsRead; ++row) {
    const hsize_t start[2] = {row, 0};
    MUST(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0);
    MUST(H5Dread(dataset, H5T_NATIVE_CHAR, memory, space, H5P_DEFAULT, g_row) >= 0);
    MUST(g_row[0] == 7 && g_row[kRowBytes - 1] == 7);
  }
  printf("pages %d\n", pages_in_memory(path));
  MUST(H5Sclose(space) >= 0 && H5Sclose(memory) >= 0);
  MUST(H5Dclose(dataset) >= 0 && H5Fclose(file) >= 0);
}

int main(int argc, char** argv) {
  MUST(argc == 3);
  if (strcmp(argv[1], "make") == 0) {
    make_file(argv[2]);
  } else {
    read_rows(argv[2]);
  }
  return 0;
}
