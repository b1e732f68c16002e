/* A barrier on a part of the ranks: with the writer and the reader in one, or
 * in two. Three ranks. */
#include "../order.h"

int main(int argc, char** argv) {
  const int ordered = is_ordered(argc, argv), rank = start(&argc, &argv);
  const int file = open_file(argv[2]);
  MPI_Comm part;
  /* 0 and 1 together, or 0 and 2; the key turns the order of the ranks round.
   */
  MPI_Comm_split(MPI_COMM_WORLD, rank == (ordered ? 2 : 1), -rank, &part);
  if (rank == 0) {
    write_bytes(file, 0);
    fsync(file);
  }
  MPI_Barrier(part);
  if (rank == 1) read_bytes(file, 0);
  close(file);
  MPI_Comm_free(&part);
  MPI_Finalize();
  return 0;
}
