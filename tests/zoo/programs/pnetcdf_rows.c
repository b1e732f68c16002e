/* PnetCDF: collective, independent and non-blocking writes; two formats with the same contents. */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 32, COLUMNS = 256, RECORDS = 5 };

static void check(int status) {
  if (status != NC_NOERR) {
    fprintf(stderr, "%s\n", ncmpi_strerror(status));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static void write_file(const char* name, int format, int rank, int ranks) {
  static float data[ROWS][COLUMNS];
  int file, dims[3], plain, records, requests[RECORDS], statuses[RECORDS];
  for (int i = 0; i < ROWS * COLUMNS; i++) data[0][i] = (float)(rank * 10000 + i);
  check(ncmpi_create(MPI_COMM_WORLD, name, NC_CLOBBER | format, MPI_INFO_NULL, &file));
  check(ncmpi_def_dim(file, "time", NC_UNLIMITED, &dims[0]));
  check(ncmpi_def_dim(file, "row", ROWS * ranks, &dims[1]));
  check(ncmpi_def_dim(file, "column", COLUMNS, &dims[2]));
  check(ncmpi_def_var(file, "plain", NC_FLOAT, 2, &dims[1], &plain));
  check(ncmpi_def_var(file, "records", NC_FLOAT, 3, dims, &records));
  check(ncmpi_enddef(file));
  MPI_Offset start[3] = {0, rank, 0}, count[3] = {1, ROWS, COLUMNS}, stride[3] = {1, ranks, 1};
  for (int record = 0; record < RECORDS; record++) {
    start[0] = record;
    check(ncmpi_iput_vars_float(file, records, start, count, stride, data[0], &requests[record]));
  }
  check(ncmpi_wait_all(file, RECORDS, requests, statuses));
  MPI_Offset rows[2] = {rank * ROWS, 0}, size[2] = {ROWS, COLUMNS};
  check(ncmpi_put_vara_float_all(file, plain, rows, size, data[0]));
  check(ncmpi_begin_indep_data(file));
  rows[0] += ROWS / 2;
  size[0] = 1;
  check(ncmpi_put_vara_float(file, plain, rows, size, data[0]));
  check(ncmpi_end_indep_data(file));
  check(ncmpi_close(file));
}

int main(int argc, char** argv) {
  int rank, ranks, file, plain;
  static float back[ROWS][COLUMNS];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  write_file("out.nc", NC_64BIT_DATA, rank, ranks);
  write_file("out64.nc", NC_64BIT_OFFSET, rank, ranks);
  check(ncmpi_open(MPI_COMM_WORLD, "out.nc", NC_NOWRITE, MPI_INFO_NULL, &file));
  check(ncmpi_inq_varid(file, "plain", &plain));
  MPI_Offset rows[2] = {(rank + 1) % ranks * ROWS, 0}, size[2] = {ROWS, COLUMNS};
  check(ncmpi_get_vara_float_all(file, plain, rows, size, back[0]));
  double sum = 0;
  for (int i = 0; i < ROWS * COLUMNS; i++) sum += back[0][i];
  printf("rank %d: %.0f\n", rank, sum);
  check(ncmpi_close(file));
  return MPI_Finalize();
}
