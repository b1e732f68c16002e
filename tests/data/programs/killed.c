// Writes, then dies without a word: what stands in its buffer is all that is left.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

int main(void) {
  const char block[100] = {0};
  const int file = open("killed.bin", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  for (int i = 0; i < 40; ++i) {
    if (pwrite(file, block, sizeof block, (off_t)sizeof block * i) < 0) return 1;
  }
  fsync(file);
  raise(SIGKILL);
  return 1;
}
