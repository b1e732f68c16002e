/* Rank 0 rewrites a file between barriers; rank 1, which keeps it open, goes on reading it by a
 * stride and must find what was written last: what was read ahead before a barrier is stale.
 *
 *   rewritten_reads FILE ROUNDS READS PAUSE_US */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kBytes = 4096, kStep = 500000 };

static MPI_File opened(const char* path, int mode) {
  MPI_File file;
  if (MPI_File_open(MPI_COMM_SELF, path, mode, MPI_INFO_NULL, &file) != MPI_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 2);
  return file;
}

static void rewrite(const char* path, int blocks, int round) {
  unsigned char from[kBytes];
  memset(from, round, sizeof from);
  MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_WRONLY);
  for (int i = 0; i < blocks; ++i)
    MPI_File_write_at(file, (MPI_Offset)i * kStep, from, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_File_close(&file);
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (count != 5) MPI_Abort(MPI_COMM_WORLD, 2);
  const int rounds = atoi(words[2]), reads = atoi(words[3]);
  MPI_File file = MPI_FILE_NULL;
  for (int round = 1; round <= rounds; ++round) {
    if (rank == 0) rewrite(words[1], rounds * reads, round);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1 && round == 1) file = opened(words[1], MPI_MODE_RDONLY);
    for (int i = (round - 1) * reads; rank == 1 && i < round * reads; ++i) {
      unsigned char to[kBytes];
      MPI_File_read_at(file, (MPI_Offset)i * kStep, to, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
      for (int j = 0; j < kBytes; ++j) {
        if (to[j] == round) continue;
        fprintf(stderr, "block %d in round %d: a byte of round %d\n", i, round, to[j]);
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
      const struct timespec pause = {0, atol(words[4]) * 1000};
      nanosleep(&pause, NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 1) MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
