/* Rank 0 tells rank 2, which tells rank 1: behind rank 0's message, or before
 * it came. */
#include "order.h"

int main(int argc, char** argv) {
  const int ordered = is_ordered(argc, argv), rank = start(&argc, &argv);
  const int file = open_file(argv[2]);
  if (rank == 0) {
    write_bytes(file, 0);
    fsync(file);
    send_word(2, kTag, MPI_COMM_WORLD);
  } else if (rank == 2) {
    if (ordered) receive_word(0, kTag, MPI_COMM_WORLD);
    send_word(1, kTag, MPI_COMM_WORLD);
    if (!ordered) receive_word(0, kTag, MPI_COMM_WORLD);
  } else if (rank == 1) {
    receive_word(2, kTag, MPI_COMM_WORLD);
    read_bytes(file, 0);
  }
  close(file);
  MPI_Finalize();
  return 0;
}
