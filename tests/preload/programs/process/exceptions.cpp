// Exceptions that leave calls of HDF5, as out of a handler of its errors; a call that is not left
// follows each. First it writes a file, which iotune traces.
//   exceptions FILE
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

extern "C" {
int H5Fflush(std::int64_t object, int scope);
int H5Oflush(std::int64_t object);

// Called by programs/loader/mock_hdf5.c in H5Oflush.
__attribute__((visibility("default"))) void in_the_midst(void) {
  throw 5;
}
}

int main(int argc, char** argv) {
  static const char block[8192] = {};
  const int fd = argc == 2 ? open(argv[1], O_CREAT | O_WRONLY | O_TRUNC, 0600) : -1;
  if (fd < 0 || write(fd, block, sizeof block) != sizeof block || close(fd) != 0) return 2;
  int caught = 0;
  for (int i = 0; i < 3; ++i) {
    try {
      H5Oflush(1);
    } catch (int thrown) {
      caught += thrown == 5 ? 1 : 0;
    }
    if (H5Fflush(1, 0) != 100) return 1;
  }
  std::printf("%d caught\n", caught);
  return 0;
}
