/* irregular_writes FILE CALLS: each rank makes CALLS writes of a few bytes by MPI-IO, ever farther
 * on by steps that repeat nothing. */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

int main(int count, char** words) {
  if (count != 3) return 2;
  MPI_Init(&count, &words);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_File file;
  if (MPI_File_open(MPI_COMM_WORLD, words[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                    &file) != MPI_SUCCESS) {
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  uint64_t drawn = 88172645463325252u + (uint64_t)rank;
  MPI_Offset at = 1024 * rank;
  static char bytes[512];
  for (long i = 0; i < atol(words[2]); ++i) {
    drawn ^= drawn << 13;
    drawn ^= drawn >> 7;
    drawn ^= drawn << 17;
    MPI_File_write_at(file, at, bytes, (int)(1 + drawn % 500), MPI_BYTE, MPI_STATUS_IGNORE);
    at += (MPI_Offset)(512 + drawn % 4096);
  }
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
