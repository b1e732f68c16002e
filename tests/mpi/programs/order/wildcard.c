/* The reader takes a message of any rank, with any tag: rank 0's, or rank 2's,
 * which says nothing of the write. The other sender waits for an answer, so
 * that each run takes the same one first. */
#include "order.h"

int main(int argc, char** argv) {
  const int ordered = is_ordered(argc, argv), rank = start(&argc, &argv);
  const int first = ordered ? 0 : 2, second = ordered ? 2 : 0;
  const int file = open_file(argv[2]);
  if (rank == 0) {
    write_bytes(file, 0);
    fsync(file);
  }
  if (rank == second) receive_word(1, kAnswerTag, MPI_COMM_WORLD);
  if (rank == first || rank == second) send_word(1, kTag + rank, MPI_COMM_WORLD);
  if (rank == 1) {
    receive_word(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD);
    read_bytes(file, 0);
    send_word(second, kAnswerTag, MPI_COMM_WORLD);
    receive_word(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD);
  }
  close(file);
  MPI_Finalize();
  return 0;
}
