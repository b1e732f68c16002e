/* Every rank makes known HDF5, MPI-IO and POSIX calls in the folder argv[1], then the run dies as
 * argv[2] says; argv[3] is a seed. "plan RANK WHICH SEED CALLS" tells what was made
 * (tests/mpi/recorded/test_mpi_deaths.py). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <hdf5.h>
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MUST(condition)                                             \
  do {                                                              \
    if (!(condition)) {                                             \
      fprintf(stderr, "mpi_deaths:%d: %s\n", __LINE__, #condition); \
      _exit(99);                                                    \
    }                                                               \
  } while (0)

enum { kElements = 4096 };
static const char* folder;
static int rank;
static char path[4096], bytes[64];
static double values[64];

static uint32_t draw(uint32_t* state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

static const char* own(const char* name) {
  MUST(snprintf(path, sizeof path, "%s/%s%d", folder, name, rank) < (int)sizeof path);
  return path;
}

static void plan(const char* which, uint32_t seed, int calls) {
  char line[128];
  int size = snprintf(line, sizeof line, "plan %d %s %u %d\n", rank, which, seed, calls);
  MUST(syscall(SYS_write, 1, line, size) == size);
}

static void posix_calls(uint32_t seed, int calls) {
  plan("pwrite", seed, calls);
  int fd = open(own("posix"), O_RDWR | O_CREAT, 0600);
  MUST(fd >= 0);
  for (int i = 0; i < calls; ++i) {
    size_t size = 1 + draw(&seed) % 64;
    off_t at = draw(&seed) % 4000;
    MUST(pwrite(fd, bytes, size, at) == (ssize_t)size);
  }
}

static void mpi_calls(uint32_t seed, int calls) {
  plan("MPI_File_write_at", seed, calls);
  MPI_File file;
  MUST(MPI_File_open(MPI_COMM_SELF, own("mpi"), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                     &file) == 0);
  for (int i = 0; i < calls; ++i) {
    int size = 1 + (int)(draw(&seed) % 64);
    MPI_Offset at = draw(&seed) % 4000;
    MUST(MPI_File_write_at(file, at, bytes, size, MPI_BYTE, MPI_STATUS_IGNORE) == 0);
  }
}

static void hdf5_calls(const char* name, uint32_t seed, int calls) {
  plan("H5Dwrite", seed, calls);
  hid_t file = H5Fcreate(own(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hsize_t extent = kElements;
  hid_t space = H5Screate_simple(1, &extent, NULL);
  hid_t set =
      H5Dcreate2(file, "x", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  MUST(file >= 0 && space >= 0 && set >= 0);
  for (int i = 0; i < calls; ++i) {
    hsize_t size = 1 + draw(&seed) % 64, at = draw(&seed) % 4000;
    hid_t memory = H5Screate_simple(1, &size, NULL);
    MUST(H5Sselect_hyperslab(space, H5S_SELECT_SET, &at, NULL, &size, NULL) >= 0);
    MUST(H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values) >= 0);
    MUST(H5Sclose(memory) >= 0);
  }
}

/* After MPI_Finalize: a launcher ends the other rank when one is killed, which must have made its
 * calls by then. By system calls, which nobody sees. Both ranks have one parent. */
static void meet(void) {
  char name[4200];
  snprintf(name, sizeof name, "%s/met.%d.%d", folder, (int)getppid(), rank);
  MUST(syscall(SYS_mkdirat, AT_FDCWD, name, 0700) == 0);
  snprintf(name, sizeof name, "%s/met.%d.%d", folder, (int)getppid(), 1 - rank);
  while (syscall(SYS_faccessat, AT_FDCWD, name, F_OK) != 0) usleep(1000);
}

int main(int argc, char** argv) {
  MUST(argc == 4);
  folder = argv[1];
  const char* how = argv[2];
  MUST(MPI_Init(&argc, &argv) == 0 && MPI_Comm_rank(MPI_COMM_WORLD, &rank) == 0);
  uint32_t seed = (uint32_t)strtoul(argv[3], NULL, 10) + (uint32_t)rank;
  /* Of POSIX more than a ring holds. */
  posix_calls(seed + 10, 4000 + (int)(draw(&seed) % 1000));
  mpi_calls(seed + 20, 100 + (int)(draw(&seed) % 1000));
  hdf5_calls("hdf5", seed + 30, 100 + (int)(draw(&seed) % 300));
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(how, "abort") == 0) {
    if (rank == 0) MPI_Abort(MPI_COMM_WORLD, 5);
    pause();
  }
  if (strcmp(how, "kill") == 0) {
    if (rank == 1) raise(SIGKILL);
    pause();
  }
  if (strcmp(how, "segv") == 0) {
    if (rank == 1) *(volatile int*)8 = 1;
    pause();
  }
  if (strcmp(how, "no-finalize") == 0) return 0;
  if (strcmp(how, "no-finalize-_exit") == 0) _exit(0);
  MUST(MPI_Finalize() == 0);
  if (strcmp(how, "finalize") == 0) return 0;
  hdf5_calls("late", seed + 40, 100 + (int)(draw(&seed) % 300));
  posix_calls(seed + 50, 100 + (int)(draw(&seed) % 300));
  if (strcmp(how, "late-_exit") == 0) _exit(0);
  if (strcmp(how, "late-kill") == 0) {
    meet();
    raise(SIGKILL);
  }
  return strcmp(how, "late") == 0 ? 0 : 97;
}
