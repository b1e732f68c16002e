/* Each rank locks the bytes that it writes or reads; a barrier says who comes
 * first. A lock keeps others away, and commits nothing. */
#include "order.h"

static void set_lock(int file, short type) {
  struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = 0, .l_len = kBytes};
  MUST(fcntl(file, F_SETLKW, &lock) == 0);
}

int main(int argc, char** argv) {
  const int ordered = is_ordered(argc, argv), rank = start(&argc, &argv);
  const int file = open_file(argv[2]);
  if (rank == 0) {
    set_lock(file, F_WRLCK);
    write_bytes(file, 0);
    if (ordered) fsync(file);
    set_lock(file, F_UNLCK);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    set_lock(file, F_RDLCK);
    read_bytes(file, 0);
    set_lock(file, F_UNLCK);
  }
  close(file);
  MPI_Finalize();
  return 0;
}
