#include "run_failure.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void run_fail(const char* program, const char* file, const char* what) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  fprintf(stderr, "%s: rank %d: %s: %s\n", program, rank, file, what);
  fflush(NULL);
  /* When a rank aborts, Hydra drops output that it has not forwarded yet. */
  nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
  MPI_Abort(MPI_COMM_WORLD, 1);
  _Exit(1);
}

void run_need(const char* program, int code, const char* file, const char* what) {
  char reason[MPI_MAX_ERROR_STRING], message[MPI_MAX_ERROR_STRING + 128];
  int length = 0;
  if (code == MPI_SUCCESS) return;
  MPI_Error_string(code, reason, &length);
  snprintf(message, sizeof message, "%s: %s", what, reason);
  run_fail(program, file, message);
}
