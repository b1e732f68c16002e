/* Reads particles as BD-CATS-IO does (clustering of VPIC's particles, SC'15): six variables of one
 * dimension, a contiguous part of each to a rank, independently; piece by piece, all six variables
 * of a piece before the next one, with a pause in place of the work on it.
 *
 *   bd-cats-io --write FILE PARTICLES
 *   bd-cats-io FILE PIECE PAUSE_US
 *
 * PARTICLES and PIECE are of a rank. Rank 0 prints "reads_ns total_ns check": the ranks' mean time
 * in H5Dread, the longest run from the open file on, and the sum of what was read. */
#define _GNU_SOURCE
#include <hdf5.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { VARIABLES = 6 };
static const char* const kNames[VARIABLES] = {"x", "y", "z", "px", "py", "pz"};

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t need(int64_t result, const char* what) {
  if (result >= 0) return result;
  fprintf(stderr, "bd-cats-io: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
  return result;
}

static float value_at(int variable, hsize_t index) {
  return (float)((index * 2654435761u + (unsigned)variable * 97u) >> 8 & 0xffff);
}

static hid_t open_file(const char* path, int writes) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  need(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL), "no MPI-IO driver");
  const hid_t file = writes ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access)
                            : H5Fopen(path, H5F_ACC_RDONLY, access);
  H5Pclose(access);
  return need(file, path);
}

static hid_t select_part(hid_t space, hsize_t start, hsize_t count) {
  need(H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL), "no such part");
  return H5Screate_simple(1, &count, NULL);
}

static void write_all(const char* path, hsize_t particles, int rank, int ranks) {
  const hid_t file = open_file(path, 1);
  const hsize_t all = particles * (hsize_t)ranks, first = particles * (hsize_t)rank;
  float* const values = malloc(particles * sizeof *values);
  for (int v = 0; v < VARIABLES; ++v) {
    const hid_t space = H5Screate_simple(1, &all, NULL);
    const hid_t data = need(
        H5Dcreate2(file, kNames[v], H5T_NATIVE_FLOAT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
        "no dataset");
    const hid_t memory = select_part(space, first, particles);
    for (hsize_t i = 0; i < particles; ++i) values[i] = value_at(v, first + i);
    need(H5Dwrite(data, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, values), "not written");
    H5Sclose(memory);
    H5Dclose(data);
    H5Sclose(space);
  }
  free(values);
  H5Fclose(file);
}

static void read_all(const char* path, hsize_t piece, long pause_us, int rank, int ranks) {
  const hid_t file = open_file(path, 0);
  hid_t data[VARIABLES], space[VARIABLES];
  hsize_t all = 0;
  for (int v = 0; v < VARIABLES; ++v) {
    data[v] = need(H5Dopen2(file, kNames[v], H5P_DEFAULT), kNames[v]);
    space[v] = H5Dget_space(data[v]);
    H5Sget_simple_extent_dims(space[v], &all, NULL);
  }
  float* const values = malloc(piece * sizeof *values);
  const hsize_t share = all / (hsize_t)ranks, first = share * (hsize_t)rank;
  const struct timespec pause = {pause_us / 1000000, pause_us % 1000000 * 1000};
  double sum = 0;
  int64_t reads = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const int64_t begin = now_ns();
  for (hsize_t at = 0; at < share; at += piece) {
    const hsize_t count = share - at < piece ? share - at : piece;
    for (int v = 0; v < VARIABLES; ++v) {
      const hid_t memory = select_part(space[v], first + at, count);
      const int64_t before = now_ns();
      need(H5Dread(data[v], H5T_NATIVE_FLOAT, memory, space[v], H5P_DEFAULT, values), "not read");
      reads += now_ns() - before;
      H5Sclose(memory);
      if (values[count - 1] != value_at(v, first + at + count - 1)) need(-1, "a wrong value");
      for (hsize_t i = 0; i < count; ++i) sum += (double)values[i];
    }
    nanosleep(&pause, NULL);
  }
  int64_t total = now_ns() - begin, longest = 0, all_reads = 0;
  double all_sums = 0;
  MPI_Reduce(&total, &longest, 1, MPI_INT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(&reads, &all_reads, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&sum, &all_sums, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%" PRId64 " %" PRId64 " %.0f\n", all_reads / ranks, longest, all_sums);
  free(values);
  for (int v = 0; v < VARIABLES; ++v) {
    H5Sclose(space[v]);
    H5Dclose(data[v]);
  }
  H5Fclose(file);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int writes = argc == 4 && strcmp(argv[1], "--write") == 0;
  const long long count = argc == 4 ? atoll(argv[writes ? 3 : 2]) : 0;
  if (count <= 0) {
    if (rank == 0) fprintf(stderr, "bd-cats-io --write FILE PARTICLES | FILE PIECE PAUSE_US\n");
    MPI_Finalize();
    return 2;
  }
  if (writes) {
    write_all(argv[2], (hsize_t)count, rank, ranks);
  } else {
    read_all(argv[1], (hsize_t)count, atol(argv[3]), rank, ranks);
  }
  MPI_Finalize();
  return 0;
}
