/* half_random FILE CALLS: the ranks together move CALLS pieces of 64 bytes. Each first writes its
   strided half of them, then reads the other half at random places. */
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const long calls = atol(argv[2]) / ranks;
  const int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
  if (fd < 0) return 1;
  char data[64] = {0};
  uint64_t state = (uint64_t)rank + 1;
  for (long i = 0; i < calls / 2; ++i) {
    const off_t at = (off_t)(i * ranks + rank) * 64;
    if (pwrite(fd, data, sizeof data, at) != sizeof data) return 1;
  }
  for (long i = 0; i < calls / 2; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const off_t at = (off_t)((state >> 33) % 1000000) * 64;
    if (pread(fd, data, sizeof data, at) < 0) return 1;
  }
  close(fd);
  MPI_Finalize();
  return 0;
}
