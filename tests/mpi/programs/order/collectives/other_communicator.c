/* The same tag on two communicators: the reader reads behind the message that
 * was sent after the write, or behind the one that was sent before it. Who
 * matches regardless of the communicator takes one for the other. */
#include "../order.h"

int main(int argc, char** argv) {
  const int ordered = is_ordered(argc, argv), rank = start(&argc, &argv);
  MPI_Comm before, after;
  MPI_Comm_dup(MPI_COMM_WORLD, &before);
  MPI_Comm_dup(MPI_COMM_WORLD, &after);
  const int file = open_file(argv[2]);
  if (rank == 0) {
    send_word(1, kTag, before);
    write_bytes(file, 0);
    fsync(file);
    send_word(1, kTag, after);
  } else if (rank == 1) {
    receive_word(0, kTag, ordered ? after : before);
    read_bytes(file, 0);
    receive_word(0, kTag, ordered ? before : after);
  }
  close(file);
  MPI_Comm_free(&before);
  MPI_Comm_free(&after);
  MPI_Finalize();
  return 0;
}
