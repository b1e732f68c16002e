/* hdf5_calls FILE CALLS: beside an open file so many selections of a whole dataspace, which is next
 * to no work. Prints nanoseconds of CPU a call. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const long calls = atol(argv[2]);
  const hsize_t dims[1] = {100};
  const hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(1, dims, NULL);
  if (file < 0 || space < 0) return 1;
  for (int i = 0; i < 1000; ++i) H5Sselect_all(space);
  const double began = now();
  for (long i = 0; i < calls; ++i) H5Sselect_all(space);
  printf("%.3f\n", (now() - began) / (double)calls);
  return H5Sclose(space) < 0 || H5Fclose(file) < 0 ? 1 : 0;
}
