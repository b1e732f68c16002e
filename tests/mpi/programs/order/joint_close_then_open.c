/* All ranks close one handle and open the next one together, with a barrier in
 * between or without: neither call promises to wait for other ranks. */
#include "order.h"

int main(int argc, char** argv) {
  const int ordered = is_ordered(argc, argv), rank = start(&argc, &argv);
  MPI_File file = open_mpi_file(MPI_COMM_WORLD, argv[2]);
  if (rank == 0) write_mpi_bytes(file, 0);
  MPI_File_close(&file);
  if (ordered) MPI_Barrier(MPI_COMM_WORLD);
  file = open_mpi_file(MPI_COMM_WORLD, argv[2]);
  if (rank == 1) read_mpi_bytes(file, 0);
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
