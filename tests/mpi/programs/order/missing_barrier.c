/* The writer syncs, and a barrier parts the write from the read, or none does.
 */
#include "order.h"

int main(int argc, char** argv) {
  const int ordered = is_ordered(argc, argv), rank = start(&argc, &argv);
  const int file = open_file(argv[2]);
  if (rank == 0) {
    write_bytes(file, 0);
    fsync(file);
  }
  if (ordered) MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) read_bytes(file, 0);
  close(file);
  MPI_Finalize();
  return 0;
}
