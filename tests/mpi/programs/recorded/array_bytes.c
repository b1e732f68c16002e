/* Writes a two-dimensional array of doubles without HDF5, each rank its part.
 *   array_bytes FILE HOW ROWS COLUMNS GRID_ROWS HEADER_BYTES
 * HOW: subarray (MPI-IO views, collective), darray (cyclic rows, blocks of columns), offsets
 * (MPI_File_write_at, row by row), posix (pwrite, row by row). A header is written by rank 0 alone,
 * in front of the array. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUST(condition)                                              \
  do {                                                               \
    if (!(condition)) {                                              \
      fprintf(stderr, "array_bytes:%d: %s\n", __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 9);                                  \
    }                                                                \
  } while (0)

/* Where part `place` of `parts` begins; the first ones are longer where it does not come out even.
 */
static int begin_of(int n, int parts, int place) {
  return n / parts * place + (place < n % parts ? place : n % parts);
}

int main(int argc, char** argv) {
  int rank, ranks;
  MUST(argc == 7 && MPI_Init(&argc, &argv) == 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* const how = argv[2];
  const int n[2] = {atoi(argv[3]), atoi(argv[4])}, header = atoi(argv[6]);
  const int grid[2] = {atoi(argv[5]), ranks / atoi(argv[5])};
  const int place[2] = {rank / grid[1], rank % grid[1]};
  int start[2], size[2];
  for (int d = 0; d < 2; ++d) {
    start[d] = begin_of(n[d], grid[d], place[d]);
    size[d] = begin_of(n[d], grid[d], place[d] + 1) - start[d];
  }
  double* const data = calloc((size_t)n[0] * (size_t)n[1], sizeof *data);
  MUST(data != NULL);
  if (strcmp(how, "posix") == 0) {
    const int file = open(argv[1], O_CREAT | O_WRONLY, 0644);
    MUST(file >= 0);
    if (rank == 0 && header > 0) MUST(pwrite(file, data, (size_t)header - 1, 0) == header - 1);
    for (int row = start[0]; row < start[0] + size[0]; ++row) {
      const size_t bytes = (size_t)size[1] * sizeof *data;
      const off_t at = header + ((off_t)row * n[1] + start[1]) * (off_t)sizeof *data;
      MUST(pwrite(file, data, bytes, at) == (ssize_t)bytes);
    }
    MUST(close(file) == 0);
  } else {
    MPI_File file;
    MUST(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                       &file) == 0);
    if (strcmp(how, "offsets") == 0) {
      for (int row = start[0]; row < start[0] + size[0]; ++row) {
        const MPI_Offset at = header + ((MPI_Offset)row * n[1] + start[1]) * (int)sizeof *data;
        MUST(MPI_File_write_at(file, at, data, size[1], MPI_DOUBLE, MPI_STATUS_IGNORE) == 0);
      }
    } else {
      MPI_Datatype type;
      int elements = size[0] * size[1], bytes = 0;
      if (strcmp(how, "subarray") == 0) {
        MUST(MPI_Type_create_subarray(2, n, size, start, MPI_ORDER_C, MPI_DOUBLE, &type) == 0);
      } else {
        const int kinds[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
        const int arguments[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
        MUST(MPI_Type_create_darray(ranks, rank, 2, n, kinds, arguments, grid, MPI_ORDER_C,
                                    MPI_DOUBLE, &type) == 0);
        MPI_Type_size(type, &bytes);
        elements = bytes / (int)sizeof *data;
      }
      MUST(MPI_Type_commit(&type) == 0);
      MUST(MPI_File_set_view(file, header, MPI_DOUBLE, type, "native", MPI_INFO_NULL) == 0);
      MUST(MPI_File_write_all(file, data, elements, MPI_DOUBLE, MPI_STATUS_IGNORE) == 0);
      MPI_Type_free(&type);
    }
    MUST(MPI_File_close(&file) == 0);
  }
  free(data);
  MPI_Finalize();
  return 0;
}
