/* Around lines of C for HDF5: test_snippets.py compiles it with each of them. */
#include <hdf5.h>
#include <mpi.h>
#include <stdlib.h>

#include "about.inc"

static void read_part(hid_t set, hsize_t row) {
  const hsize_t start[2] = {row, 0}, count[2] = {1, 64};
  hid_t space = H5Dget_space(set), memory = H5Screate_simple(2, count, NULL);
  double values[64];
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
  if (H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values) < 0) abort();
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const hsize_t rows = 16, dims[2] = {rows * (hsize_t)ranks, 64}, n = rows;
  const hsize_t steps = 4;
  hsize_t start[2] = {rows * (hsize_t)rank, 0}, count[2] = {4, 4}, stride[2] = {4, 16};
  hsize_t block[2] = {4, 16}, own = rows * 64, first = own * (hsize_t)rank, size = own;
  hsize_t number = rows * 64, length = 8, all = own * (hsize_t)ranks;
  const size_t bytes = sizeof(double) * own;
  const char* name = argv[argc - 1];
  MPI_Info info = MPI_INFO_NULL;
  hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), dxpl = H5Pcreate(H5P_DATASET_XFER);
  hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), type = H5T_NATIVE_DOUBLE;
  H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, info);
  hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
  hid_t whole = H5Screate_simple(2, dims, NULL), line = H5Screate_simple(1, &all, NULL);
  hid_t set = H5Dcreate2(file, "given", type, whole, H5P_DEFAULT, dcpl, H5P_DEFAULT);
  hid_t places = H5Dcreate2(file, "places", H5T_NATIVE_LLONG, line, H5P_DEFAULT, dcpl, H5P_DEFAULT);
  hid_t values = H5Dcreate2(file, "values", type, line, H5P_DEFAULT, dcpl, H5P_DEFAULT);
#ifdef OPENS
  H5Dclose(H5Dcreate2(file, OPENS, type, whole, H5P_DEFAULT, dcpl, H5P_DEFAULT));
#endif
#ifdef CHUNKS_OF
  {
    const hsize_t chunked[] = {CHUNKS_OF};
    whole = H5Screate_simple(sizeof chunked / sizeof *chunked, chunked, NULL);
  }
#endif
  hid_t space = H5Scopy(whole), part = H5Scopy(whole), memory = H5Screate_simple(1, &size, NULL);
#ifdef IN_LINE
  H5Sclose(space);
  space = H5Scopy(line);
#endif
#ifndef CHUNKS_OF
  H5Sselect_hyperslab(part, H5S_SELECT_SET, start, NULL, (hsize_t[]){rows, 64}, NULL);
#endif
  double *data = calloc(own, sizeof *data), *table = calloc(own, sizeof *table);
  long long* indices = calloc(own, sizeof *indices);
#ifdef DIVIDES
  count[0] = rows, count[1] = 64;
#endif
#ifdef REOPENS
  H5Dclose(set), H5Dclose(places), H5Dclose(values), H5Fclose(file);
#endif
  {
#include "snippet.inc"
#ifdef CHUNKS_OF
    const hid_t made = H5Dcreate2(file, "made", type, whole, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    if (made < 0 || H5Dclose(made) < 0) return 1;
#endif
#ifdef REOPENS
    H5Fclose(file);
#endif
  }
  (void)read_part, (void)stride, (void)block, (void)n, (void)steps, (void)first, (void)number;
  (void)length, (void)bytes, (void)data, (void)table, (void)indices, (void)space, (void)memory;
  (void)places, (void)values, (void)part, (void)set, (void)count, (void)name;
  H5close();
  MPI_Finalize();
  return 0;
}
