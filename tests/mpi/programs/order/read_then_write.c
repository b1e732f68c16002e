/* The other direction: rank 1 reads, then rank 0 writes what was read; parted
 * by a message, or by none. Nothing is synced: what was read is to be older
 * than the write. */
#include "order.h"

int main(int argc, char** argv) {
  const int ordered = is_ordered(argc, argv), rank = start(&argc, &argv);
  const int file = open_file(argv[2]);
  if (rank == 1) {
    read_bytes(file, 0);
    if (ordered) send_word(0, kTag, MPI_COMM_WORLD);
  } else if (rank == 0) {
    if (ordered) receive_word(1, kTag, MPI_COMM_WORLD);
    write_bytes(file, 0);
  }
  close(file);
  MPI_Finalize();
  return 0;
}
