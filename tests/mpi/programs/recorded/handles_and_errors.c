/* What a preload must not disturb: a communicator that is freed while a property list still
 * names it, a list that changes its driver, failed calls and what their error stacks hold. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>

static void say(int rank, const char* what, long value) {
  printf("%d %s %ld\n", rank, what, value);
}

static void freed_communicator(int rank, hid_t fapl) {
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm);
  H5Pset_fapl_mpio(fapl, comm, MPI_INFO_NULL);
  MPI_Comm_free(&comm); /* HDF5 keeps a duplicate */
  hid_t file = H5Fcreate("freed.h5", H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
  say(rank, "created with a freed communicator", file >= 0);
  H5Fclose(file);
}

static void other_driver(int rank, hid_t fapl) {
  H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL);
  H5Pset_fapl_sec2(fapl);
  if (rank != 1) return; /* one rank alone: nobody joins an agreement */
  hid_t file = H5Fcreate("alone.h5", H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
  say(rank, "created by one rank", file >= 0);
  H5Fclose(file);
}

static void failed_mpiio(int rank) {
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, "f.bin", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  int result = MPI_File_write_at(file, 0, "", 0, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE);
  say(rank, "write of no type fails", result != MPI_SUCCESS);
  MPI_File_close(&file);
}

static void failed_hdf5(int rank) {
  hsize_t dims[1] = {8};
  hid_t space = H5Screate_simple(1, dims, dims);
  hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(dcpl, 1, dims);
  hid_t file =
      H5Fcreate(rank == 0 ? "own0.h5" : "own1.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t dataset = H5Dcreate2(file, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  dims[0] = 100;
  say(rank, "extent past the maximum", H5Dset_extent(dataset, dims));
  say(rank, "errors on the stack", (long)H5Eget_num(H5E_DEFAULT));
  say(rank, "file that is not there", H5Fopen("missing.h5", H5F_ACC_RDONLY, H5P_DEFAULT) >= 0);
  say(rank, "errors on the stack", (long)H5Eget_num(H5E_DEFAULT));
  say(rank, "too many dimensions", H5Screate_simple(100, dims, NULL) >= 0);
  say(rank, "errors on the stack", (long)H5Eget_num(H5E_DEFAULT));
  H5Dclose(dataset);
  H5Pclose(dcpl);
  H5Sclose(space);
  H5Fclose(file);
}

int main(int argc, char** argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
  freed_communicator(rank, fapl);
  other_driver(rank, fapl);
  failed_mpiio(rank);
  failed_hdf5(rank);
  H5Pclose(fapl);
  MPI_Finalize();
  return 0;
}
