/* A program's first file, opened by MPI-IO, or with -DBY_HDF5 by HDF5 alone; says on stdout where
 * it begins.
 *   first_files FILE */
#ifdef BY_HDF5
#include <hdf5.h>
#else
#include <mpi.h>
#endif
#include <unistd.h>

static int begins(void) {
  return write(STDOUT_FILENO, "begins\n", 7) == 7;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
#ifdef BY_HDF5
  if (!begins()) return 3;
  const hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  return file < 0 || H5Fclose(file) < 0;
#else
  MPI_File file;
  if (MPI_Init(&argc, &argv) != 0 || !begins()) return 3;
  if (MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                    &file) != 0) {
    return 4;
  }
  return MPI_File_close(&file) != 0 || MPI_Finalize() != 0;
#endif
}
