/* many_calls FILE CALLS regular|random: so many 64-byte preads, by a process of its own. Prints the
   most memory that it had up to its very end, in KiB. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int measure(char** argv) {
  char* const again[] = {argv[0], argv[1], argv[2], argv[3], "", NULL};
  const pid_t child = fork();
  if (child == 0) {
    execv("/proc/self/exe", again);
    _exit(127);
  }
  int status = 1;
  struct rusage used;
  if (wait4(child, &status, 0, &used) != child || status != 0) return 1;
  printf("%ld\n", used.ru_maxrss);
  return 0;
}

int main(int argc, char** argv) {
  if (argc == 4) return measure(argv);
  if (argc != 5) return 2;
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
  return 0;
}
