/* As close_then_open, with handles of MPI-IO that are each rank's own. */
#include "order.h"

int main(int argc, char** argv) {
  const int ordered = is_ordered(argc, argv), rank = start(&argc, &argv);
  MPI_File file = MPI_FILE_NULL;
  if (rank == 0) {
    file = open_mpi_file(MPI_COMM_SELF, argv[2]);
    write_mpi_bytes(file, 0);
    MPI_File_close(&file);
  }
  if (rank == 1 && !ordered) file = open_mpi_file(MPI_COMM_SELF, argv[2]);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    if (ordered) file = open_mpi_file(MPI_COMM_SELF, argv[2]);
    read_mpi_bytes(file, 0);
    MPI_File_close(&file);
  }
  MPI_Finalize();
  return 0;
}
