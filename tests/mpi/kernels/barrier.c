/* Seconds of a barrier, for the test of the yield shim. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  enum { BARRIERS = 100 };
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  for (int i = 0; i < BARRIERS; i++) MPI_Barrier(MPI_COMM_WORLD);
  double seconds = (MPI_Wtime() - start) / BARRIERS;
  if (rank == 0) printf("%.9f\n", seconds);
  MPI_Finalize();
  return 0;
}
