/* Ranks that do alike (rows of a common file, a file of their own, MPI-IO in blocks), and odd ranks
   that also read at random. */
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHECK(condition)                                      \
  do {                                                        \
    if (!(condition)) {                                       \
      fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 1);                           \
    }                                                         \
  } while (0)

enum { kRow = 96, kRows = 300, kRandomReads = 8000 };

static uint64_t next_random(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 24;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  char row[kRow] = {0};
  const int common = open("common.dat", O_RDWR | O_CREAT, 0600);
  CHECK(common >= 0);
  for (int i = 0; i < kRows; ++i) {
    CHECK(pwrite(common, row, sizeof row, ((off_t)i * size + rank) * kRow) == kRow);
  }

  char name[64];
  snprintf(name, sizeof name, "own.%d.dat", rank);
  const int own = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
  CHECK(own >= 0);
  for (int i = 0; i <= rank; ++i) CHECK(write(own, row, sizeof row) == kRow);
  CHECK(close(own) == 0);

  if (rank % 2 == 1) {
    uint64_t state = (uint64_t)rank;
    char byte;
    for (int i = 0; i < kRandomReads; ++i) {
      CHECK(pread(common, &byte, 1, (off_t)(next_random(&state) % 1000000007)) >= 0);
    }
  }
  CHECK(close(common) == 0);

  MPI_File file;
  CHECK(MPI_File_open(MPI_COMM_WORLD, "blocks.dat", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                      &file) == MPI_SUCCESS);
  for (int i = 0; i < 20; ++i) {
    CHECK(MPI_File_write_at(file, (MPI_Offset)(rank * 20 + i) * kRow, row, kRow, MPI_BYTE,
                            MPI_STATUS_IGNORE) == MPI_SUCCESS);
  }
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);
  MPI_Finalize();
  return 0;
}
