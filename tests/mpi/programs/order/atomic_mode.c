/* One handle of all ranks and a barrier without any sync: in atomic mode, or
 * not. */
#include "order.h"

int main(int argc, char** argv) {
  const int ordered = is_ordered(argc, argv), rank = start(&argc, &argv);
  MPI_File file = open_mpi_file(MPI_COMM_WORLD, argv[2]);
  if (ordered) MUST(MPI_File_set_atomicity(file, 1) == MPI_SUCCESS);
  if (rank == 0) write_mpi_bytes(file, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) read_mpi_bytes(file, 0);
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
