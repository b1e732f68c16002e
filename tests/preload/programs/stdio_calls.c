/* stdio_calls FILE SEED: random stdio calls on FILE; prints "NAME number…" for each as a trace has
 * it: without the stream, transfers with result, offset and bytes. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUST(condition)                                           \
  do {                                                            \
    if (!(condition)) {                                           \
      fprintf(stderr, "line %d: %s: %m\n", __LINE__, #condition); \
      _exit(99);                                                  \
    }                                                             \
  } while (0)

enum { kMost = 10000 };
static char buffer[kMost];

static void transfer(FILE* stream, int write) {
  const size_t size = 1 + (size_t)rand() % 16, count = (size_t)rand() % (kMost / 16);
  const long before = ftell(stream);
  size_t moved;
  if (write) {
    moved = rand() % 2 ? fwrite(buffer, size, count, stream)
                       : fwrite_unlocked(buffer, size, count, stream);
  } else {
    moved = rand() % 2 ? fread(buffer, size, count, stream)
                       : fread_unlocked(buffer, size, count, stream);
  }
  /* At the end of the file an item may have come in part. */
  const long long part = ftell(stream) - before - (long)(moved * size);
  printf("%s %zu %zu %zu %lld %zu\n", write ? "fwrite" : "fread", size, count, moved, before + part,
         moved * size);
}

int main(int argc, char** argv) {
  MUST(argc == 3);
  srand((unsigned)atoi(argv[2]));
  memset(buffer, 'x', sizeof buffer);
  FILE* stream = fopen(argv[1], "w+");
  MUST(stream != NULL);
  printf("fopen %d\n", fileno(stream));
  for (int i = 0; i < 300; ++i) {
    const long where = rand() % 100000;
    switch (rand() % 6) {
      case 0:
        MUST(fseek(stream, where, SEEK_SET) == 0);
        printf("fseek %ld %d 0\n", where, SEEK_SET);
        break;
      case 1:
        MUST(fseeko(stream, where / 100, SEEK_END) == 0);
        printf("fseek %ld %d 0\n", where / 100, SEEK_END);
        break;
      case 2:
        rewind(stream);
        printf("rewind 0\n");
        break;
      case 3:
        MUST(fflush(stream) == 0);
        printf("fflush 0\n");
        break;
      default: {
        /* Between reading and writing the standard wants a seek. */
        MUST(fseeko64(stream, where, SEEK_SET) == 0);
        printf("fseek %ld %d 0\n", where, SEEK_SET);
        const int write = rand() % 2;
        for (int k = rand() % 5; k >= 0; --k) transfer(stream, write);
        MUST(fseek(stream, 0, SEEK_CUR) == 0);
        printf("fseek 0 %d 0\n", SEEK_CUR);
      }
    }
  }
  stream = freopen64(argv[1], "r", stream);
  MUST(stream != NULL);
  printf("freopen %d\n", fileno(stream));
  transfer(stream, 0);
  MUST(fclose(stream) == 0);
  printf("fclose 0\n");
  const int fd = open(argv[1], O_RDONLY);
  MUST(fd >= 0);
  stream = fdopen(fd, "r");
  MUST(stream != NULL);
  printf("fdopen %d\n", fd);
  transfer(stream, 0);
  MUST(fclose(stream) == 0);
  printf("fclose 0\n");
  /* The number is free again: what is opened on it now is another file. */
  const int other = open("/dev/null", O_WRONLY);
  MUST(other == fd && write(other, buffer, 10) == 10 && close(other) == 0);
  return 0;
}
