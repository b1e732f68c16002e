/* Each rank writes a file of its own through MPI-IO, on MPI_COMM_SELF.
 *   own_files [FIRST]
 * Ranks below FIRST (0) write none. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank >= (argc > 1 ? atoi(argv[1]) : 0)) {
    char name[32];
    char bytes[8192] = {0};
    MPI_File file;
    snprintf(name, sizeof name, "part%d.bin", rank);
    if (MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                      &file) != MPI_SUCCESS ||
        MPI_File_write_at(file, 0, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE) !=
            MPI_SUCCESS ||
        MPI_File_close(&file) != MPI_SUCCESS) {
      fprintf(stderr, "own_files: rank %d cannot write %s\n", rank, name);
      MPI_Abort(MPI_COMM_WORLD, 9);
    }
  }
  MPI_Finalize();
  return 0;
}
