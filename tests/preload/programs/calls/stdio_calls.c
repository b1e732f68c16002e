/* stdio_calls FILE SEED: random stdio calls on FILE; prints "NAME number…" for each as a trace has
 * it: without the stream, transfers with result, offset and bytes. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
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

/* Asking is a call, too. */
static long tell(FILE* stream) {
  const long position = rand() % 2 ? ftell(stream) : (long)ftello(stream);
  printf("ftell %ld\n", position);
  return position;
}

static void transfer(FILE* stream, int write) {
  const size_t size = 1 + (size_t)rand() % 16, count = (size_t)rand() % (kMost / 16);
  const long before = tell(stream);
  size_t moved;
  if (write) {
    moved = rand() % 2 ? fwrite(buffer, size, count, stream)
                       : fwrite_unlocked(buffer, size, count, stream);
  } else {
    moved = rand() % 2 ? fread(buffer, size, count, stream)
                       : fread_unlocked(buffer, size, count, stream);
  }
  /* At the end of the file an item may have come in part. */
  const long after = ftell(stream);
  const long long part = after - before - (long)(moved * size);
  printf("%s %zu %zu %zu %lld %zu\n", write ? "fwrite" : "fread", size, count, moved, before + part,
         moved * size);
  printf("ftell %ld\n", after);
}

/* FORTIFY's names, which this program is not built with. */
int __fprintf_chk(FILE* stream, int flag, const char* format, ...);
char* __fgets_chk(char* to, size_t room, int size, FILE* stream);

static int printed(FILE* stream, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int result = vfprintf(stream, format, arguments);
  va_end(arguments);
  return result;
}
static int scanned(FILE* stream, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int result = vfscanf(stream, format, arguments);
  va_end(arguments);
  return result;
}

static void write_text(FILE* stream) {
  char line[100];
  const int bytes = 1 + rand() % 90;
  memset(line, 'y', sizeof line);
  strcpy(line + bytes - 1, "\n");
  const long before = tell(stream);
  const int how = rand() % 4;
  int result;
  if (how == 0) {
    result = rand() % 2 ? fputs(line, stream) : fputs_unlocked(line, stream);
    printf("fputs %d %ld %d\n", result, before, bytes);
    return;
  }
  if (how == 1) result = fprintf(stream, "%d %s", how, line);
  if (how == 2) result = __fprintf_chk(stream, 1, "%d %s", how, line);
  if (how == 3) result = printed(stream, "%d %s", how, line);
  MUST(result == bytes + 2);
  printf("fprintf %d %ld %d\n", result, before, result);
}

static void read_text(FILE* stream) {
  static char* line;
  static size_t room;
  const long before = tell(stream);
  const int size = 2 + rand() % 300;
  char word[41];
  switch (rand() % 3) {
    case 0: {
      const char* const got = rand() % 2 ? fgets(buffer, size, stream)
                                         : __fgets_chk(buffer, sizeof buffer, size, stream);
      const long after = ftell(stream);
      printf("fgets %d %ld %ld\n", size, got == NULL ? -1 : after - before, before);
      printf("ftell %ld\n", after);
      memset(buffer, 'x', sizeof buffer);
      break;
    }
    case 1: {
      const int delimiter = rand() % 2 ? '\n' : 'y';
      const long result = delimiter == '\n' ? getline(&line, &room, stream)
                                            : getdelim(&line, &room, delimiter, stream);
      printf("getdelim %d %ld %ld\n", delimiter, result, before);
      break;
    }
    default: {
      const int result = rand() % 2 ? fscanf(stream, "%40s", word) : scanned(stream, "%40s", word);
      const long after = ftell(stream);
      printf("fscanf %d %ld %ld\n", result, before, after - before);
      printf("ftell %ld\n", after);
    }
  }
}

/* By calls that have no wrapper. */
static void put_characters(FILE* stream) {
  const long before = tell(stream);
  const int count = 1 + rand() % 9000;
  for (int i = 0; i < count; ++i) {
    const int how = i % 3;
    const int put = how == 0   ? putc('z', stream)
                    : how == 1 ? fputc('z', stream)
                               : putc_unlocked('\n', stream);
    MUST(put != EOF);
  }
  printf("fputc %d %ld %d\n", count, before, count);
}

static void get_characters(FILE* stream) {
  const long before = tell(stream);
  int count = 0;
  for (int i = rand() % 9000; i >= 0; --i) {
    const int got = i % 2 ? getc(stream) : getc_unlocked(stream);
    if (got == EOF) break;
    ++count;
    if (i == 0) {
      MUST(ungetc(got, stream) == got);
      --count;
    }
  }
  if (count > 0) printf("fgetc %d %ld %d\n", count, before, count);
}

static void remember_and_return(FILE* stream) {
  fpos_t place;
  const long before = tell(stream);
  MUST(fgetpos(stream, &place) == 0);
  printf("fgetpos 0 %ld\n", before);
  MUST(fseek(stream, 5, SEEK_SET) == 0);
  printf("fseek 5 %d 0\n", SEEK_SET);
  MUST(fsetpos(stream, &place) == 0);
  printf("fsetpos 0 %ld\n", before);
}

static void in_a_temporary_file(void) {
  FILE* const stream = tmpfile();
  MUST(stream != NULL);
  const int fd = fileno(stream);
  printf("tmpfile %d\nfileno %d\n", fd, fd);
  write_text(stream);
  MUST(fclose(stream) == 0);
  printf("fclose 0\n");
}

int main(int argc, char** argv) {
  MUST(argc == 3);
  srand((unsigned)atoi(argv[2]));
  memset(buffer, 'x', sizeof buffer);
  FILE* stream = fopen(argv[1], "w+");
  MUST(stream != NULL);
  int number = fileno(stream);
  printf("fopen %d\nfileno %d\n", number, number);
  for (int i = 0; i < 300; ++i) {
    const long where = rand() % 100000;
    switch (rand() % 8) {
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
      case 4:
        remember_and_return(stream);
        break;
      default: {
        /* Between reading and writing the standard wants a seek. */
        MUST(fseeko64(stream, where, SEEK_SET) == 0);
        printf("fseek %ld %d 0\n", where, SEEK_SET);
        const int write = rand() % 2;
        for (int k = rand() % 5; k >= 0; --k) {
          const int kind = rand() % 5;
          if (kind < 2) {
            transfer(stream, write);
          } else if (kind == 2) {
            (write ? put_characters : get_characters)(stream);
          } else if (write) {
            write_text(stream);
          } else {
            read_text(stream);
          }
        }
        MUST(fseek(stream, 0, SEEK_CUR) == 0);
        printf("fseek 0 %d 0\n", SEEK_CUR);
      }
    }
  }
  stream = freopen64(argv[1], "r", stream);
  MUST(stream != NULL);
  number = fileno(stream);
  printf("freopen %d\nfileno %d\n", number, number);
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
  in_a_temporary_file();
  /* The number is free again: what is opened on it now is another file. */
  const int other = open("/dev/null", O_WRONLY);
  MUST(other == fd && write(other, buffer, 10) == 10 && close(other) == 0);
  return 0;
}
