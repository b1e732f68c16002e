/* static_io FILE SEED CALLS: preads and pwrites drawn from SEED; prints "r|w OFFSET RESULT". Linked
 * statically by its test: no preload sees it. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  static char buffer[5000];
  uint32_t state = (uint32_t)atol(argv[2]);
  const int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
  if (fd < 0) return 1;
  for (long i = atol(argv[3]); i > 0; --i) {
    state = state * 1664525u + 1013904223u;
    const size_t size = 1 + (state >> 8) % sizeof buffer;
    const int writes = (state >> 31) != 0;
    state = state * 1664525u + 1013904223u;
    const off_t at = (off_t)((state >> 8) % 100000u);
    memset(buffer, (int)(state >> 24), sizeof buffer);
    const ssize_t done = writes ? pwrite(fd, buffer, size, at) : pread(fd, buffer, size, at);
    if (done < 0) return 1;
    printf("%c %ld %zd\n", writes ? 'w' : 'r', (long)at, done);
  }
  return close(fd);
}
