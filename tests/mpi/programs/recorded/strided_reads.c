/* Each rank reads every other block of a file by MPI_File_read_at, with a pause after each, and
 * compares it with what tests/preload/programs/prefetch/planned_reads.c wrote.
 *
 *   strided_reads FILE READS PAUSE_US */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kBytes = 65536, kStep = 500000 };

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_File file;
  if (count != 4 || MPI_File_open(MPI_COMM_WORLD, words[1], MPI_MODE_RDONLY, MPI_INFO_NULL,
                                  &file) != MPI_SUCCESS) {
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  static unsigned char to[kBytes];
  for (int i = 0; i < atoi(words[2]); ++i) {
    const long at = (long)(ranks * i + rank) * kStep;
    MPI_File_read_at(file, at, to, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
    for (long j = 0; j < kBytes; ++j) {
      if (to[j] == (unsigned char)(((uint32_t)((at + j) / 8) * 2654435761u) >> 24)) continue;
      fprintf(stderr, "rank %d: a wrong byte at %ld\n", rank, at + j);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    const struct timespec pause = {0, atol(words[3]) * 1000};
    nanosleep(&pause, NULL);
  }
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
