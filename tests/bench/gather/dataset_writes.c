/* Independent H5Dwrites of small pieces, and the seconds from H5Fcreate to the slowest rank's
 * return from H5Fclose. dataset_writes WAY FILE COUNT alone: one process, COUNT rows of 64 bytes, a
 * call each. rows: each rank COUNT rows of 64 bytes, a call each, in one part a rank. cyclic: each
 * rank every second of its share of COUNT elements a rank, in one call. columns: COUNT rows, each
 * rank its own four columns of 8 bytes, in one call. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void need(long long result) {
  if (result < 0) MPI_Abort(MPI_COMM_WORLD, 1);
}

static void write_rows(hid_t data, hsize_t first, hsize_t count) {
  const hsize_t columns = 8, part[2] = {1, 8};
  hid_t space = H5Dget_space(data), memory = H5Screate_simple(1, &columns, NULL);
  double row[8] = {0};
  for (hsize_t i = first; i < first + count; ++i) {
    const hsize_t start[2] = {i, 0};
    row[0] = (double)i;
    need(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, part, NULL));
    need(H5Dwrite(data, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, row));
  }
  H5Sclose(memory);
  H5Sclose(space);
}

static void write_part(hid_t data, const hsize_t* start, const hsize_t* stride,
                       const hsize_t* count, const hsize_t* block, hsize_t elements, int rank) {
  hid_t space = H5Dget_space(data), memory = H5Screate_simple(1, &elements, NULL);
  double* values = malloc(elements * sizeof *values);
  for (hsize_t i = 0; i < elements; ++i) values[i] = (double)i + rank * 0.5;
  need(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, block));
  need(H5Dwrite(data, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values));
  free(values);
  H5Sclose(memory);
  H5Sclose(space);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  MPI_Init(&argc, &argv);
  const char* const way = argv[1];
  const hsize_t count = (hsize_t)atoll(argv[3]);
  const int alone = strcmp(way, "alone") == 0;
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const hsize_t ranks = (hsize_t)size, self = (hsize_t)rank;
  const hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
  if (!alone) H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  double seconds = MPI_Wtime();
  const hid_t file = H5Fcreate(argv[2], H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
  need(file);
  const int rows = alone || strcmp(way, "rows") == 0, cyclic = strcmp(way, "cyclic") == 0;
  hsize_t dims[2] = {count * (alone ? 1 : ranks), 8};
  if (!rows && !cyclic) {
    dims[0] = count;
    dims[1] = 4 * ranks;
  }
  const hid_t space = H5Screate_simple(cyclic ? 1 : 2, dims, NULL);
  const hid_t data =
      H5Dcreate2(file, "values", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  need(data);
  if (rows) {
    write_rows(data, alone ? 0 : self * count, count);
  } else if (cyclic) {
    write_part(data, &self, &ranks, &count, NULL, count, rank);
  } else {
    const hsize_t start[2] = {0, 4 * self}, one[2] = {1, 1}, block[2] = {count, 4};
    write_part(data, start, NULL, one, block, 4 * count, rank);
  }
  need(H5Dclose(data));
  need(H5Sclose(space));
  need(H5Fclose(file));
  seconds = MPI_Wtime() - seconds;
  double slowest = 0;
  MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%.6f\n", slowest);
  H5Pclose(fapl);
  MPI_Finalize();
  return 0;
}
