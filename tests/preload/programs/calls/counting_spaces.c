/* Another tool: wraps H5Sclose by RTLD_NEXT, and says at the end how often it was called. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

static long calls;

__attribute__((visibility("default"))) int H5Sclose(int64_t space) {
  static int (*real)(int64_t);
  if (real == NULL) real = (int (*)(int64_t))dlsym(RTLD_NEXT, "H5Sclose");
  ++calls;
  return real(space);
}

__attribute__((destructor)) static void say(void) {
  if (calls > 0) fprintf(stderr, "H5Sclose: %ld\n", calls);
}
