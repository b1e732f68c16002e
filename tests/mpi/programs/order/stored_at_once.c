/* A barrier parts the write from the read, and nobody syncs: the writer's
 * descriptor stores each write before it ends, or not. */
#include "order.h"

int main(int argc, char** argv) {
  const int ordered = is_ordered(argc, argv), rank = start(&argc, &argv);
  const int file = open(argv[2], O_RDWR | (ordered ? O_DSYNC : 0));
  MUST(file >= 0);
  if (rank == 0) write_bytes(file, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) read_bytes(file, 0);
  close(file);
  MPI_Finalize();
  return 0;
}
