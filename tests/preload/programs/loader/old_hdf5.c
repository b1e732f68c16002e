/* Makes two calls of an HDF5 whose ids have 32 bits, and writes a file by itself. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int H5Fcreate(const char* name, unsigned flags, int creation, int access);
int H5Fclose(int file);
int H5Fflush(int object, int scope);

int main(int argc, char** argv) {
  static char block[8192];
  if (argc < 2) return 2;
  const int file = H5Fcreate("f.h5", 2, 0, 0);
  if (file != 0x01000000 || H5Fflush(1, 0) < 0 || H5Fclose(file) != 0) return 3;
  const int fd = open(argv[1], O_CREAT | O_WRONLY | O_TRUNC, 0600);
  if (fd < 0 || write(fd, block, sizeof block) != sizeof block || close(fd) != 0) return 4;
  puts("fine");
  return 0;
}
