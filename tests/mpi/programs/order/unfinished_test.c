/* The reader asks by MPI_Test until the message is there, or once before it can
 * be there. */
#include "order.h"

int main(int argc, char** argv) {
  const int ordered = is_ordered(argc, argv), rank = start(&argc, &argv);
  const int file = open_file(argv[2]);
  if (rank == 0) {
    write_bytes(file, 0);
    fsync(file);
    if (!ordered) receive_word(1, kAnswerTag, MPI_COMM_WORLD);
    send_word(1, kTag, MPI_COMM_WORLD);
  } else if (rank == 1) {
    int word, done = 0;
    MPI_Request request;
    MPI_Irecv(&word, 1, MPI_INT, 0, kTag, MPI_COMM_WORLD, &request);
    do {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    } while (ordered && !done);
    MUST(done == ordered);
    read_bytes(file, 0);
    if (!ordered) {
      send_word(0, kAnswerTag, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
  close(file);
  MPI_Finalize();
  return 0;
}
