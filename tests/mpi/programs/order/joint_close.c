/* All ranks close one handle together, and the reader opens the file by itself:
 * another rank may still be inside its close, if no barrier follows. */
#include "order.h"

int main(int argc, char** argv) {
  const int ordered = is_ordered(argc, argv), rank = start(&argc, &argv);
  MPI_File file = open_mpi_file(MPI_COMM_WORLD, argv[2]);
  if (rank == 0) write_mpi_bytes(file, 0);
  MPI_File_close(&file);
  if (ordered) MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    const int own = open_file(argv[2]);
    read_bytes(own, 0);
    close(own);
  }
  MPI_Finalize();
  return 0;
}
