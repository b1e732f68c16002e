/* MPI_Allreduce parts the write from the read: of one number, or of none. */
#include "../order.h"

int main(int argc, char** argv) {
  const int ordered = is_ordered(argc, argv), rank = start(&argc, &argv);
  const int file = open_file(argv[2]);
  int word = 1, sum = 0;
  if (rank == 0) {
    write_bytes(file, 0);
    fsync(file);
  }
  MPI_Allreduce(&word, &sum, ordered ? 1 : 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 1) read_bytes(file, 0);
  close(file);
  MPI_Finalize();
  return 0;
}
