/* A reduction parts the write from the read: its root is the reader, or the
 * writer. */
#include "../order.h"

int main(int argc, char** argv) {
  const int ordered = is_ordered(argc, argv), rank = start(&argc, &argv);
  const int file = open_file(argv[2]);
  int word = 1, sum = 0;
  if (rank == 0) {
    write_bytes(file, 0);
    fsync(file);
  }
  MPI_Reduce(&word, &sum, 1, MPI_INT, MPI_SUM, ordered ? 1 : 0, MPI_COMM_WORLD);
  if (rank == 1) read_bytes(file, 0);
  close(file);
  MPI_Finalize();
  return 0;
}
