// Writes, pauses and writes on where it was: a loop that is kept as one pattern.
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

enum { kBurst = 60, kBytes = 4096 };

static int burst(int file, int first) {
  static const char block[kBytes];
  for (int i = first; i < first + kBurst; ++i) {
    if (pwrite(file, block, sizeof block, (off_t)kBytes * i) < 0) return 1;
  }
  return 0;
}

int main(void) {
  const int file = open("pause.bin", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (burst(file, 0) != 0) return 1;
  const struct timespec pause = {0, 300 * 1000 * 1000};
  nanosleep(&pause, NULL);
  return burst(file, kBurst);
}
