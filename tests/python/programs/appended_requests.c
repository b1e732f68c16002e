/* FOLDER: writes 1000 bytes at 500 of placed.dat, and appends to appended.dat by requests and to
 * stream.dat by a stream: these stand where the system puts them later, so that their places are
 * not in a trace. */
#define _GNU_SOURCE
#include <aio.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 2 || chdir(argv[1]) != 0) return 2;
  static char bytes[1000];
  int placed = open("placed.dat", O_WRONLY | O_CREAT, 0644);
  if (placed < 0 || pwrite(placed, bytes, sizeof bytes, 500) != sizeof bytes) return 1;
  close(placed);
  int appended = open("appended.dat", O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (appended < 0) return 1;
  for (int i = 0; i < 3; ++i) {
    struct aiocb request;
    memset(&request, 0, sizeof request);
    request.aio_fildes = appended;
    request.aio_buf = bytes;
    request.aio_nbytes = 70;
    const struct aiocb* const wait_for[] = {&request};
    if (aio_write(&request) != 0 || aio_suspend(wait_for, 1, NULL) != 0) return 1;
    if (aio_return(&request) != 70) return 1;
  }
  if (close(appended) != 0) return 1;
  /* What a stream holds back has no place before it is flushed. */
  FILE* stream = fopen("stream.dat", "a");
  if (stream == NULL) return 1;
  for (int i = 0; i < 2; ++i) {
    if (fwrite(bytes, 1, 70, stream) != 70) return 1;
  }
  return fclose(stream);
}
