/* Transfers that move nothing and always succeed: what a wrapper costs where the call itself costs
 * nothing. */
#include <sys/types.h>

ssize_t pread(int fd, void* buffer, size_t size, off_t at) {
  (void)fd, (void)buffer, (void)at;
  return (ssize_t)size;
}

ssize_t pwrite(int fd, const void* buffer, size_t size, off_t at) {
  (void)fd, (void)buffer, (void)at;
  return (ssize_t)size;
}
