/* Preloaded behind libiotune: storage that gets slow for small requests. While the file that
 * SLOW_SMALL_WRITES names is there, each pwrite of less than 4 KiB takes 0.4 ms more. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static void wait_if_small(size_t bytes) {
  const char* flag = getenv("SLOW_SMALL_WRITES");
  if (bytes >= 4096 || flag == NULL || access(flag, F_OK) != 0) return;
  struct timespec delay = {0, 400000};
  nanosleep(&delay, NULL);
}

ssize_t pwrite(int fd, const void* from, size_t bytes, off_t offset) {
  static ssize_t (*real)(int, const void*, size_t, off_t);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "pwrite");
  wait_if_small(bytes);
  return real(fd, from, bytes, offset);
}

ssize_t pwrite64(int fd, const void* from, size_t bytes, off64_t offset) {
  static ssize_t (*real)(int, const void*, size_t, off64_t);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "pwrite64");
  wait_if_small(bytes);
  return real(fd, from, bytes, offset);
}
