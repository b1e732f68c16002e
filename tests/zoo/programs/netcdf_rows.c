/* netCDF-4 in parallel: rows by all ranks, collectively and independently, a record dimension. */
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 32, COLUMNS = 256, RECORDS = 6 };

static void check(int status) {
  if (status != NC_NOERR) {
    fprintf(stderr, "%s\n", nc_strerror(status));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

int main(int argc, char** argv) {
  int rank, ranks, file, dims[3], plain, records;
  static double data[ROWS][COLUMNS];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < ROWS * COLUMNS; i++) data[0][i] = rank * 1e6 + i;
  check(nc_create_par("out.nc", NC_NETCDF4 | NC_CLOBBER, MPI_COMM_WORLD, MPI_INFO_NULL, &file));
  check(nc_def_dim(file, "time", NC_UNLIMITED, &dims[0]));
  check(nc_def_dim(file, "row", (size_t)(ROWS * ranks), &dims[1]));
  check(nc_def_dim(file, "column", COLUMNS, &dims[2]));
  check(nc_def_var(file, "plain", NC_DOUBLE, 2, &dims[1], &plain));
  check(nc_def_var(file, "records", NC_DOUBLE, 3, dims, &records));
  check(nc_enddef(file));
  check(nc_var_par_access(file, records, NC_COLLECTIVE));
  size_t start[3] = {0, (size_t)(rank * ROWS), 0}, count[3] = {1, ROWS, COLUMNS};
  for (size_t record = 0; record < RECORDS; record++) {
    start[0] = record;
    check(nc_put_vara_double(file, records, start, count, data[0]));
  }
  check(nc_var_par_access(file, plain, NC_INDEPENDENT));
  for (int row = 0; row < ROWS; row++) {
    size_t one[2] = {(size_t)(row * ranks + rank), 0}, size[2] = {1, COLUMNS};
    check(nc_put_vara_double(file, plain, one, size, data[row]));
  }
  check(nc_close(file));
  check(nc_open_par("out.nc", NC_NOWRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &file));
  check(nc_inq_varid(file, "records", &records));
  start[0] = RECORDS - 1;
  start[1] = (size_t)((rank + 1) % ranks * ROWS);
  check(nc_get_vara_double(file, records, start, count, data[0]));
  double sum = 0;
  for (int i = 0; i < ROWS * COLUMNS; i++) sum += data[0][i];
  printf("rank %d: %.0f\n", rank, sum);
  check(nc_close(file));
  return MPI_Finalize();
}
