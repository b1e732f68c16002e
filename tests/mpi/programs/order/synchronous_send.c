/* The writer receives behind its write what the reader sends before its read:
 * by a synchronous send, which ends when it is received, or by an ordinary
 * one. */
#include "order.h"

int main(int argc, char** argv) {
  const int ordered = is_ordered(argc, argv), rank = start(&argc, &argv);
  const int file = open_file(argv[2]);
  int word = 1;
  if (rank == 0) {
    write_bytes(file, 0);
    fsync(file);
    receive_word(1, kTag, MPI_COMM_WORLD);
  } else if (rank == 1) {
    if (ordered) {
      MPI_Ssend(&word, 1, MPI_INT, 0, kTag, MPI_COMM_WORLD);
    } else {
      send_word(0, kTag, MPI_COMM_WORLD);
    }
    read_bytes(file, 0);
  }
  close(file);
  MPI_Finalize();
  return 0;
}
