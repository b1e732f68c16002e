/* A barrier parts the write from the read; the writer syncs before it, or
 * never. */
#include "order.h"

int main(int argc, char** argv) {
  const int ordered = is_ordered(argc, argv), rank = start(&argc, &argv);
  const int file = open_file(argv[2]);
  if (rank == 0) {
    write_bytes(file, 0);
    if (ordered) fsync(file);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) read_bytes(file, 0);
  close(file);
  MPI_Finalize();
  return 0;
}
