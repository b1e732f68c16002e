#include "hdf5_failure.h"

#include <hdf5.h>
#include <stdio.h>
#include <string.h>

#include "run_failure.h"

/* The two innermost entries, which carry MPI-IO's reason over several lines. */
static herr_t append_reason(unsigned n, const H5E_error2_t* entry, void* text) {
  char* reason = text;
  size_t used = strlen(reason);
  if (n < 2 && entry->desc != NULL && used < 480)
    snprintf(reason + used, 512 - used, "%s%s", n > 0 ? ", " : ": ", entry->desc);
  return 0;
}

void hdf5_fail(const char* program, const char* file, const char* what) {
  char reason[512] = "", message[1024];
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, append_reason, reason);
  for (char* c = reason; *c != '\0'; c++)
    if (*c == '\n') *c = ' ';
  snprintf(message, sizeof message, "%.510s%s", what, reason);
  run_fail(program, file, message);
}
