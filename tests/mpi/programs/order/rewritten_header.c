/* Two ranks write the header, each twice: at any time, or rank 1 when rank 0
 * says so. */
#include "order.h"

int main(int argc, char** argv) {
  const int ordered = is_ordered(argc, argv), rank = start(&argc, &argv);
  const int file = open_file(argv[2]);
  if (ordered && rank == 1) receive_word(0, kTag, MPI_COMM_WORLD);
  for (int step = 0; step < 2; step++) {
    write_bytes(file, 0);
    write_bytes(file, (long)(1 + rank + 2 * step) * kBytes);
  }
  fsync(file);
  if (ordered && rank == 0) send_word(1, kTag, MPI_COMM_WORLD);
  close(file);
  MPI_Finalize();
  return 0;
}
