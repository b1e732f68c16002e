/* transfer_timer FILE strided|random read|write CALLS
 *
 * 64-byte preads or pwrites; prints "WALL CPU", nanoseconds a call. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 64, SPAN = 6400000 };

static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const int strided = strcmp(argv[2], "strided") == 0;
  const int reading = strcmp(argv[3], "read") == 0;
  const long calls = atol(argv[4]);
  char buffer[BYTES];
  memset(buffer, 'b', sizeof buffer);
  const int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
  if (fd < 0) return 1;
  /* Pages exist beforehand: a fault is not what is measured. */
  static char zeros[65536];
  for (off_t at = 0; at < SPAN; at += (off_t)sizeof zeros) {
    if (pwrite(fd, zeros, sizeof zeros, at) != (ssize_t)sizeof zeros) return 1;
  }
  unsigned long state = 88172645463325252ul;
  const double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
  for (long i = 0; i < calls; ++i) {
    off_t at = (off_t)(i * 128 % SPAN);
    if (!strided) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      at = (off_t)(state % (SPAN / BYTES)) * BYTES;
    }
    const ssize_t done = reading ? pread(fd, buffer, BYTES, at) : pwrite(fd, buffer, BYTES, at);
    if (done != BYTES) return 1;
  }
  printf("%.3f %.3f\n", (now(CLOCK_MONOTONIC) - wall) / (double)calls,
         (now(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (double)calls);
  close(fd);
  return 0;
}
