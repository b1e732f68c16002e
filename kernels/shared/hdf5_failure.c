#include "hdf5_failure.h"

#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The two innermost entries, which carry MPI-IO's reason over several lines. */
static herr_t append_reason(unsigned n, const H5E_error2_t* entry, void* text) {
  char* reason = text;
  size_t used = strlen(reason);
  if (n < 2 && entry->desc != NULL && used < 480)
    snprintf(reason + used, 512 - used, "%s%s", n > 0 ? ", " : ": ", entry->desc);
  return 0;
}

void hdf5_fail(const char* program, const char* file, const char* what) {
  char reason[512] = "";
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, append_reason, reason);
  for (char* c = reason; *c != '\0'; c++)
    if (*c == '\n') *c = ' ';
  fprintf(stderr, "%s: rank %d: %s: %s%s\n", program, rank, file, what, reason);
  fflush(NULL);
  /* When a rank aborts, Hydra drops output that it has not forwarded yet. */
  nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
  MPI_Abort(MPI_COMM_WORLD, 1);
  _Exit(1);
}
