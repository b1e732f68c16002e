/* A broadcast parts the write from the read: from the writer to the reader, or
 * from the reader to the writer, which lets the reader go on at once. */
#include "../order.h"

int main(int argc, char** argv) {
  const int ordered = is_ordered(argc, argv), rank = start(&argc, &argv);
  const int file = open_file(argv[2]);
  int word = 1;
  if (rank == 0) {
    write_bytes(file, 0);
    fsync(file);
  }
  MPI_Bcast(&word, 1, MPI_INT, ordered ? 0 : 1, MPI_COMM_WORLD);
  if (rank == 1) read_bytes(file, 0);
  close(file);
  MPI_Finalize();
  return 0;
}
