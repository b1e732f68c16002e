/* A non-blocking barrier: the reader waits for it before it reads, or only
 * afterwards. */
#include "../order.h"

int main(int argc, char** argv) {
  const int ordered = is_ordered(argc, argv), rank = start(&argc, &argv);
  const int file = open_file(argv[2]);
  MPI_Request request;
  if (rank == 0) {
    write_bytes(file, 0);
    fsync(file);
  }
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  if (rank == 1 && !ordered) read_bytes(file, 0);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == 1 && ordered) read_bytes(file, 0);
  close(file);
  MPI_Finalize();
  return 0;
}
