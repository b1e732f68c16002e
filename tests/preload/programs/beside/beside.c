/* beside FOLDER: files, memory, threads and a child, for a run beside another preloaded tool. It
 * says what it read, and ends with status 3. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3, BLOCKS = 100, BYTES = 4096 };
static const char* folder;

static int opened(const char* name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (fd < 0) exit(1);
  return fd;
}

static void* work(void* number) {
  char name[32];
  snprintf(name, sizeof name, "data-%ld", (long)number);
  const int fd = opened(name);
  long sum = 0;
  for (int i = 0; i < BLOCKS; ++i) {
    char* const block = malloc(BYTES);
    memset(block, (int)(long)number + i, BYTES);
    if (pwrite(fd, block, BYTES, (off_t)i * BYTES) != BYTES) exit(1);
    free(block);
  }
  for (int i = BLOCKS - 1; i >= 0; --i) {
    char* const block = calloc(1, BYTES);
    if (pread(fd, block, BYTES, (off_t)i * BYTES) != BYTES) exit(1);
    sum += block[i];
    free(block);
  }
  close(fd);
  return (void*)sum;
}

static void lines(const char* name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE* const stream = fopen(path, "w+");
  if (stream == NULL) exit(1);
  for (int i = 0; i < 50; ++i) fwrite("a line of thirty-two characters\n", 1, 32, stream);
  rewind(stream);
  char back[32];
  size_t read = 0;
  while (fread(back, 1, sizeof back, stream) == sizeof back) ++read;
  printf("%zu lines\n", read);
  fclose(stream);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  folder = argv[1];
  pthread_t threads[THREADS];
  for (long i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (long i = 0; i < THREADS; ++i) {
    void* sum = NULL;
    pthread_join(threads[i], &sum);
    printf("%ld: %ld\n", i, (long)sum);
  }
  lines("lines");
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const int fd = opened("child");
    if (write(fd, "of the child", 12) != 12) _exit(1);
    close(fd);
    exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  printf("child %d\n", status);
  return 3;
}
