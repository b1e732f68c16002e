/* In place of storage that makes a read wait, three times in four: found behind the wrappers. */
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

ssize_t pread(int fd, void* to, size_t bytes, off_t offset) {
  if ((offset / 4096 * 2654435761u >> 8 & 3) != 0) {
    const struct timespec wait = {0, 100000};
    nanosleep(&wait, NULL);
  }
  return syscall(SYS_pread64, fd, to, bytes, offset);
}
