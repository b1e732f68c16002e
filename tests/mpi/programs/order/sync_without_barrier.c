/* Both sync a handle of their own (MPI_COMM_SELF, so that no sync concerns two
 * ranks), with a barrier between the syncs or without. */
#include "order.h"

int main(int argc, char** argv) {
  const int ordered = is_ordered(argc, argv), rank = start(&argc, &argv);
  MPI_File file = open_mpi_file(MPI_COMM_SELF, argv[2]);
  if (rank == 0) write_mpi_bytes(file, 0);
  if (rank == 0) MPI_File_sync(file);
  if (ordered) MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) MPI_File_sync(file);
  if (rank == 1) read_mpi_bytes(file, 0);
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
