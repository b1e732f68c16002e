/* Epochs in which each rank writes a file of its own, rank 1 after a while. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

#include "iotune.h"

static char block[4096];

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char path[4096];
  snprintf(path, sizeof path, "%s.%d", argv[1], rank);
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  for (int epoch = 0; epoch < 5; ++epoch) {
    iotune_region_begin("epoch", epoch);
    if (rank == 1) usleep(2000);
    iotune_region_begin("write", IOTUNE_NO_VALUE);
    if (write(fd, block, sizeof block) < 0) return 3;
    iotune_region_end("write");
    iotune_region_end("epoch");
  }
  close(fd);
  return MPI_Finalize();
}
