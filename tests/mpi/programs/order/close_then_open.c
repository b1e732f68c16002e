/* The writer closes the file before the barrier; the reader opens it behind, or
 * already before. */
#include "order.h"

int main(int argc, char** argv) {
  const int ordered = is_ordered(argc, argv), rank = start(&argc, &argv);
  int file = -1;
  if (rank == 0) {
    file = open_file(argv[2]);
    write_bytes(file, 0);
    close(file);
  }
  if (rank == 1 && !ordered) file = open_file(argv[2]);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    if (ordered) file = open_file(argv[2]);
    read_bytes(file, 0);
    close(file);
  }
  MPI_Finalize();
  return 0;
}
