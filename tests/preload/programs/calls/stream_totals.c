// stream_totals HOW FILE: moves bytes through stdio, most of them by calls that have no record of
// their own.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void must(int holds, const char* what) {
  if (holds) return;
  perror(what);
  exit(1);
}

// What single characters move, which no record has by itself.
static void put_all(const char* text, FILE* to) {
  while (*text != '\0') putc(*text++, to);
}

// Reads what the file has, 90 bytes, and writes 12 behind it.
static void both_ways(const char* path) {
  char got[30];
  FILE* stream = fopen(path, "a+");
  must(stream != NULL && fread(got, 1, 30, stream) == 30, "fread");
  must(fseek(stream, 4, SEEK_SET) == 0, "fseek");
  for (int i = 0; i < 20; ++i) must(getc(stream) != EOF, "getc");
  must(fread(got, 1, 10, stream) == 10, "fread");
  must(fseek(stream, 0, SEEK_END) == 0, "fseek");
  must(fprintf(stream, "%s", "aaaaa") == 5, "fprintf");
  put_all("bbbbbbb", stream);
  must(fseek(stream, 0, SEEK_SET) == 0 && fread(got, 1, 30, stream) == 30, "fread");
  fclose(stream);
}

// As a shell's `echo aa >>FILE`, then `echo bbb >FILE.new`.
static void led(const char* path) {
  char other[4096];
  snprintf(other, sizeof other, "%s.new", path);
  for (int i = 0; i < 2; ++i) {
    const int fd = i == 0 ? open(path, O_WRONLY | O_APPEND) : open(other, O_WRONLY | O_CREAT, 0600);
    const int saved = dup(1);
    must(fd >= 0 && dup2(fd, 1) == 1 && close(fd) == 0, "dup2");
    put_all(i == 0 ? "aa\n" : "bbb\n", stdout);
    must(fflush(stdout) == 0 && dup2(saved, 1) == 1 && close(saved) == 0, "dup2 back");
  }
}

// Lines on stdout, which a child of this process writes to as well, and lines at the end of a file
// that both open.
static void beside_a_child(const char* path) {
  put_all("first\n", stdout);
  must(fflush(stdout) == 0, "fflush");
  const int is_child = fork() == 0;
  FILE* stream = fopen(path, "a");
  must(stream != NULL, "fopen");
  for (int i = 0; i < 3000; ++i) {
    if (i % 3 == 0) fputs("a line of its own\n", stream);
    if (i % 3 == 1) put_all("letters\n", stream);
    if (i % 500 == 0) must(fflush(stream) == 0, "fflush");
  }
  fclose(stream);
  if (is_child) {
    char block[4096];
    memset(block, 'c', sizeof block);
    for (int i = 0; i < 30; ++i) must(write(1, block, sizeof block) == sizeof block, "write");
    _exit(0);
  }
  int status = 0;
  must(wait(&status) > 0 && status == 0, "wait");
  put_all("last\n", stdout);
}

// A file of single characters, and one that is opened while they are written.
static void characters(const char* path) {
  FILE* stream = fopen(path, "w");
  must(stream != NULL, "fopen");
  put_all("one", stream);
  must(close(open(path, O_RDONLY)) == 0, "open");
  put_all("two", stream);
  fclose(stream);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(const char* path);
  } all[] = {{"both-ways", both_ways},
             {"led", led},
             {"beside-a-child", beside_a_child},
             {"characters", characters}};
  for (size_t i = 0; argc == 3 && i < sizeof all / sizeof *all; ++i) {
    if (strcmp(argv[1], all[i].name) == 0) {
      all[i].run(argv[2]);
      return 0;
    }
  }
  return 2;
}
