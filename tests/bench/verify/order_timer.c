/* order_timer CALLS
 *
 * A message of 8 bytes to oneself on MPI_COMM_SELF: MPI_Irecv, MPI_Send, MPI_Wait, because MPICH's
 * MPI_Send to oneself waits for a receive. Prints nanoseconds of CPU a message. The second round is
 * timed: the first finds everything. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const long calls = atol(argv[1]);
  if (MPI_Init(NULL, NULL) != MPI_SUCCESS) return 1;
  double began = 0;
  for (int round = 0; round < 2; ++round) {
    began = now();
    for (long i = 0; i < calls; ++i) {
      double out = 1, in = 0;
      MPI_Request request;
      if (MPI_Irecv(&in, 1, MPI_DOUBLE, 0, 7, MPI_COMM_SELF, &request) != MPI_SUCCESS ||
          MPI_Send(&out, 1, MPI_DOUBLE, 0, 7, MPI_COMM_SELF) != MPI_SUCCESS ||
          MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        return 1;
      }
    }
  }
  printf("%.2f\n", (now() - began) / (double)calls);
  return MPI_Finalize() == MPI_SUCCESS ? 0 : 1;
}
