/* stream_bytes KIND FILE: moves bytes by streams, mostly one by one. Who runs it compares the
 * bytes of FILE with those in the trace. */
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

int __dprintf_chk(int fd, int flag, const char* format, ...);

static int is(const char* kind, const char* name) {
  return strcmp(kind, name) == 0;
}

static void put(FILE* stream, int count) {
  for (int i = 0; i < count; ++i) putc('a' + i % 26, stream);
}

static FILE* common;
static void* lines(void* unused) {
  for (int i = 0; i < 300; ++i) {
    fputs("a line of thirty-two characters\n", common);
  }
  return unused;
}

static int with_list(int fd, const char* format, ...) {
  va_list list;
  va_start(list, format);
  const int result = vdprintf(fd, format, list);
  va_end(list);
  return result;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const char *kind = argv[1], *path = argv[2];
  if (is(kind, "stdout")) { /* a file already */
    for (int i = 0; i < 1000; ++i) printf("line %d\n", i);
    puts("the last");
    return putchar('\n') == EOF;
  }
  if (is(kind, "dprintf")) {
    const int fd = open(path, O_CREAT | O_RDWR, 0600);
    int sum = 0;
    for (int i = 0; i < 100; ++i) {
      sum += dprintf(fd, "%d\n", i) + with_list(fd, "%*d\n", 5000, i);
      sum += __dprintf_chk(fd, 1, "%s\n", "text");
    }
    return lseek(fd, 0, SEEK_CUR) != sum;
  }
  FILE* const stream = fopen(path, is(kind, "append") ? "a" : "w+");
  if (stream == NULL) return 3;
  if (is(kind, "exit")) { /* nobody closes it */
    put(stream, 9000);
    fputs("between\n", stream);
    put(stream, 9000);
  } else if (is(kind, "wide")) {
    for (int i = 0; i < 9000; ++i) fputwc(L'a', stream);
    fclose(stream);
  } else if (is(kind, "append")) {
    put(stream, 9000);
    fprintf(stream, "%d\n", 1);
    put(stream, 500);
    fflush(stream);
    put(stream, 20000);
    fclose(stream);
  } else if (is(kind, "fork")) { /* a child that leaves what its parent began */
    put(stream, 3000);
    fflush(stream);
    const pid_t child = fork();
    if (child == 0) exit(0);
    waitpid(child, NULL, 0);
    put(stream, 3000);
    fclose(stream);
  } else { /* threads at once */
    pthread_t threads[4];
    common = stream;
    for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, lines, NULL);
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
    fclose(stream);
  }
  return 0;
}
