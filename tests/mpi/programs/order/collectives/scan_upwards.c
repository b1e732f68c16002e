/* MPI_Exscan parts the write from the read: the writer is the lower rank, or
 * the higher one. */
#include "../order.h"

int main(int argc, char** argv) {
  const int ordered = is_ordered(argc, argv), rank = start(&argc, &argv);
  const int writer = ordered ? 0 : 1;
  const int file = open_file(argv[2]);
  int word = 1, sum = 0;
  if (rank == writer) {
    write_bytes(file, 0);
    fsync(file);
  }
  MPI_Exscan(&word, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 1 - writer) read_bytes(file, 0);
  close(file);
  MPI_Finalize();
  return 0;
}
