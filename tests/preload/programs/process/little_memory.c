/* Bounds its own memory, to what it needs with some room, and goes on: a child, memory, a file.
 * Usage: little_memory data|addresses|stack|locked FILE */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static char block[8192];

static int put(const char* path, int blocks) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (fd < 0) return 0;
  int good = 1;
  for (int i = 0; i < blocks; ++i) good = good && write(fd, block, sizeof block) == sizeof block;
  return close(fd) == 0 && good;
}

static void limit(int resource, rlim_t bytes) {
  struct rlimit wanted;
  if (getrlimit(resource, &wanted) != 0) exit(3);
  wanted.rlim_cur = bytes;
  if (setrlimit(resource, &wanted) != 0) exit(4);
}

int main(int argc, char** argv) {
  if (argc != 3 || !put(argv[2], 100)) return 2;
  size_t wanted = 128u << 10;
  if (strcmp(argv[1], "data") == 0) {
    limit(RLIMIT_DATA, 1u << 20);
  } else if (strcmp(argv[1], "addresses") == 0) {
    limit(RLIMIT_AS, 8u << 20);
    wanted = 2u << 20;
  } else if (strcmp(argv[1], "stack") == 0) {
    limit(RLIMIT_STACK, 256u << 10);
  } else {
    limit(RLIMIT_MEMLOCK, 64u << 10);
    if (mlock(block, sizeof block) != 0) return 5;
  }
  pid_t child = 0;
  char* arguments[] = {(char*)"true", NULL};
  const int failed = posix_spawnp(&child, "true", NULL, NULL, arguments, environ);
  int status = 1;
  if (failed == 0 && waitpid(child, &status, 0) != child) return 6;
  char* const memory = malloc(wanted);
  if (memory != NULL) memset(memory, 1, wanted);
  printf("child %s %d, memory %d, file %d\n", strerror(failed), status, memory != NULL,
         put(argv[2], 3));
  free(memory);
  return 0;
}
