/* Each rank writes bytes of its own in one page; or rank 1 begins one byte too
 * early. */
#include "order.h"

int main(int argc, char** argv) {
  const int ordered = is_ordered(argc, argv), rank = start(&argc, &argv);
  const int file = open_file(argv[2]);
  write_bytes(file, (long)rank * kBytes - (rank == 1 && !ordered));
  close(file);
  MPI_Finalize();
  return 0;
}
