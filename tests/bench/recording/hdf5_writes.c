/* hdf5_writes FILE WRITES
 *
 * One dataset of WRITES rows, written row by row through a hyperslab selection; no MPI calls. */
#include <hdf5.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const hsize_t rows = strtoull(argv[2], NULL, 10), columns = 128;
  const hsize_t dims[2] = {rows, columns}, row[2] = {1, columns};
  const hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(2, dims, NULL), memory = H5Screate_simple(2, row, NULL);
  const hid_t data =
      H5Dcreate2(file, "rows", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (file < 0 || space < 0 || memory < 0 || data < 0) return 1;
  static double values[128];
  for (hsize_t i = 0; i < rows; ++i) {
    const hsize_t start[2] = {i, 0};
    if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, row, NULL) < 0) return 1;
    if (H5Dwrite(data, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values) < 0) return 1;
  }
  H5Dclose(data);
  H5Sclose(space);
  H5Sclose(memory);
  return H5Fclose(file) < 0 ? 1 : 0;
}
