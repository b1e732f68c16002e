/* POSIX and stdio in their forms, on two files. Usage: posix_io_forms DIR */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static char data[65536];

static void nap(long milliseconds) {
  struct timespec time = {0, milliseconds * 1000000L};
  nanosleep(&time, NULL);
}

int main(int argc, char** argv) {
  char path[512];
  if (argc != 2) return 2;
  memset(data, 'x', sizeof data);
  snprintf(path, sizeof path, "%s/input", argv[1]);
  int made = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
  if (made < 0 || write(made, data, sizeof data) != sizeof data) return 3;
  close(made);
  int in = open(path, O_RDONLY);
  snprintf(path, sizeof path, "%s/output file", argv[1]);
  int out = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);
  if (in < 0 || out < 0) return 3;
  for (int i = 0; i < 300; i++) {
    if (pread(in, data, 100 + (size_t)i % 7, (off_t)i * 211) < 0) return 4;
    if (pwrite(out, data, 64, (off_t)(i * i) % 5000) != 64) return 4;
  }
  int twin = dup(out);
  close(out);
  nap(30);
  if (lseek(twin, 9000, SEEK_SET) != 9000 || write(twin, data, 123) != 123) return 4;
  struct iovec parts[2] = {{data, 10}, {data + 50, 20}};
  if (writev(twin, parts, 2) != 30) return 4;
  fsync(twin);
  nap(30);
  if (pread(in, data, 5000, 65000) != 536) return 4; /* cut by the file's end */
  close(twin);
  close(in);
  snprintf(path, sizeof path, "%s/stream", argv[1]);
  FILE* stream = fopen(path, "w+");
  if (stream == NULL || fwrite(data, 8, 100, stream) != 100) return 4;
  fseek(stream, 16, SEEK_SET);
  if (fread(data, 1, 40, stream) != 40) return 4;
  fclose(stream);
  return 0;
}
