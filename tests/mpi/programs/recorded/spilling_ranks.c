/* spilling_ranks CALLS: each rank makes so many reads of which no two are alike (odd ranks) or that
   go on as a loop (even ranks); their blocks fill more than memory. Rank r draws from r. */
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const long calls = argc > 1 ? atol(argv[1]) : 0;
  const int file = open("common.dat", O_RDWR | O_CREAT, 0600);
  uint64_t state = (uint64_t)rank;
  char buffer[64];
  int good = file >= 0;
  for (long i = 0; i < calls && good; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const size_t bytes = rank % 2 == 1 ? 1 + (state >> 58) : 64;
    const off_t at = rank % 2 == 1 ? (off_t)(state >> 2) : i * 64;
    good = pread(file, buffer, bytes, at) == 0;
  }
  if (!good) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Finalize();
  return 0;
}
