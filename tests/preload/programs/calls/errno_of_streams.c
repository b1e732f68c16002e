/* errno_of_streams FIFO: prints the result and errno of stdio calls on a FIFO, which has no
 * position, each called with errno 0 as programs do that tell an end from an error. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHOW(call)                                     \
  do {                                                 \
    errno = 0;                                         \
    const long result = (long)(call);                  \
    printf("%s %ld errno %d\n", #call, result, errno); \
  } while (0)

int main(int argc, char** argv) {
  if (argc != 2 || mkfifo(argv[1], 0600) != 0) return 99;
  const int both_ends = open(argv[1], O_RDWR);
  static const char lines[] = "one 2\nthree\nfour\nfive;six\n";
  if (write(both_ends, lines, sizeof lines - 1) < 0) return 99;
  FILE* stream = fopen(argv[1], "r+");
  if (stream == NULL) return 99;
  int number = 0;
  char text[64];
  char* line = NULL;
  size_t space = 0;
  SHOW(fscanf(stream, "one %d ", &number));
  SHOW(getline(&line, &space, stream));
  SHOW(fgets(text, sizeof text, stream) == text);
  SHOW(getdelim(&line, &space, ';', stream));
  SHOW(fread(text, 1, 4, stream));
  SHOW(fprintf(stream, "%d\n", number));
  SHOW(fputs("seven\n", stream));
  SHOW(fflush(stream));
  SHOW(ftell(stream));
  free(line);
  return fclose(stream);
}
