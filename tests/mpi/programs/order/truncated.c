/* The first rank truncates what the other writes behind a barrier; it has closed
 * the file by then, or not. */
#include "order.h"

int main(int argc, char** argv) {
  const int ordered = is_ordered(argc, argv), rank = start(&argc, &argv);
  const int file = open_file(argv[2]);
  if (rank == 0) {
    MUST(ftruncate(file, 0) == 0);
    if (ordered) close(file);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    const int own = open_file(argv[2]);
    write_bytes(own, 0);
    close(own);
  }
  if (rank != 0 || !ordered) close(file);
  MPI_Finalize();
  return 0;
}
