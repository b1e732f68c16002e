/* untouched FILE ROUNDS: reads and writes of a file that is no logged one. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  char bytes[64] = {1};
  if (argc != 3) return 2;
  const int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (fd < 0) return 1;
  const int rounds = atoi(argv[2]);
  for (int i = 0; i < rounds; ++i) {
    if (pwrite(fd, bytes, sizeof bytes, (off_t)i * 128) != (ssize_t)sizeof bytes) return 1;
    if (pread(fd, bytes, sizeof bytes, (off_t)i * 128) != (ssize_t)sizeof bytes) return 1;
    if (write(fd, bytes, sizeof bytes) != (ssize_t)sizeof bytes) return 1;
    if (lseek(fd, 0, SEEK_SET) != 0) return 1;
  }
  return close(fd);
}
