/* A preload for tests that compare files: HDF5 writes the time of day into object headers, so
 * two runs a second apart differ. For libhdf5 alone the clock stands still. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

enum { FROZEN = 1000000000 };

static int asked_by_hdf5(void* address) {
  Dl_info from;
  return dladdr(address, &from) != 0 && from.dli_fname != NULL &&
         (strstr(from.dli_fname, "libhdf5") != NULL ||
          strstr(from.dli_fname, "static_settings") != NULL); /* it holds HDF5 itself */
}

time_t time(time_t* to) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  time_t seconds = asked_by_hdf5(__builtin_return_address(0)) ? FROZEN : now.tv_sec;
  if (to != NULL) *to = seconds;
  return seconds;
}

int gettimeofday(struct timeval* restrict to, void* restrict zone) {
  (void)zone;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  to->tv_sec = asked_by_hdf5(__builtin_return_address(0)) ? FROZEN : now.tv_sec;
  to->tv_usec = now.tv_nsec / 1000;
  return 0;
}
