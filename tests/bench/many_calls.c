/* many_calls FILE CALLS regular|random: so many 64-byte preads. Prints the most memory that the
   process had, in KiB. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const long calls = atol(argv[2]);
  const int random = strcmp(argv[3], "random") == 0;
  const int fd = open(argv[1], O_RDONLY);
  if (fd < 0) return 1;
  char data[64];
  uint64_t state = 1;
  for (long i = 0; i < calls; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    /* Rows of a matrix, column block by column block; or any unit of 6.4 MB. */
    const off_t at = random ? (off_t)((state >> 33) % 100000) * 64
                            : (off_t)(i % 1000) * 6400 + (off_t)(i / 1000 % 100) * 64;
    if (pread(fd, data, sizeof data, at) != sizeof data) return 1;
  }
  close(fd);
  FILE* const status = fopen("/proc/self/status", "r");
  char line[256];
  while (status != NULL && fgets(line, sizeof line, status) != NULL) {
    if (strncmp(line, "VmHWM:", 6) == 0) printf("%ld\n", atol(line + 6));
  }
  return 0;
}
