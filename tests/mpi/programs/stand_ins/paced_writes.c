/* Preloaded behind libiotune: storage that takes PACED_BYTES_PER_SECOND of each client, however
 * many of them write: two writers are twice as fast as one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static void keep_pace(ssize_t bytes) {
  const char* pace = getenv("PACED_BYTES_PER_SECOND");
  if (bytes <= 0 || pace == NULL) return;
  const double seconds = (double)bytes / atof(pace);
  struct timespec delay = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&delay, NULL);
}

ssize_t pwrite(int fd, const void* from, size_t bytes, off_t offset) {
  static ssize_t (*real)(int, const void*, size_t, off_t);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "pwrite");
  const ssize_t written = real(fd, from, bytes, offset);
  keep_pace(written);
  return written;
}

ssize_t pwrite64(int fd, const void* from, size_t bytes, off64_t offset) {
  static ssize_t (*real)(int, const void*, size_t, off64_t);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "pwrite64");
  const ssize_t written = real(fd, from, bytes, offset);
  keep_pace(written);
  return written;
}
