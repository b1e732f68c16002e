// POSIX and stdio: a loop that becomes a pattern, offsets that become none, calls that fail.
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
  char block[512] = {0};
  const int file = open("serial.bin", O_RDWR | O_CREAT | O_TRUNC, 0644);
  for (int i = 0; i < 200; ++i) {
    if (write(file, block, sizeof block) < 0) return 1;
  }
  unsigned seed = 1;
  for (int i = 0; i < 50; ++i) {
    seed = seed * 1103515245U + 12345U;
    if (pread(file, block, 64, (off_t)(seed >> 16) % 100000) < 0) return 1;
  }
  close(file);
  (void)!write(file, block, 1);
  (void)!open("no such file", O_RDONLY);
  FILE* const stream = fopen("serial.txt", "w");
  if (stream == NULL || fwrite(block, 8, 16, stream) != 16) return 1;
  return fclose(stream);
}
