// appending HOW FILE [LINES]: writes blocks to FILE, each of a letter that no other has (or, by
// several writers, of a letter and a length of their own), so that the file says where each of them
// went.
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void must(int holds, const char* what) {
  if (holds) return;
  perror(what);
  exit(1);
}

static char block[4096];
static const void* filled(char letter, size_t bytes) {
  memset(block, letter, bytes);
  return block;
}

static void forms(const char* path) {
  int fd = open(path, O_WRONLY | O_APPEND);
  must(fd >= 0, "open");
  must(write(fd, filled('a', 10), 10) == 10, "write");
  must(lseek(fd, 3, SEEK_SET) == 3, "lseek");
  must(write(fd, filled('b', 11), 11) == 11, "write after lseek");
  must(pwrite(fd, filled('c', 12), 12, 5) == 12, "pwrite");
  struct iovec part = {(void*)filled('d', 13), 13};
  must(pwritev(fd, &part, 1, 6) == 13, "pwritev");
  part = (struct iovec){(void*)filled('e', 14), 14};
  must(writev(fd, &part, 1) == 14, "writev");
  int other = dup(fd);
  must(pwrite(other, filled('f', 15), 15, 7) == 15, "pwrite by dup");
  must(fcntl(other, F_SETFL, 0) == 0, "F_SETFL");
  must(pwrite(fd, filled('g', 16), 16, 0) == 16, "pwrite without the flag");
  must(fcntl(fd, F_SETFL, O_APPEND) == 0, "F_SETFL");
  must(pwrite(other, filled('h', 17), 17, 0) == 17, "pwrite with the flag again");
  must(fcntl(fd, F_SETFL, 0) == 0, "F_SETFL");
  part = (struct iovec){(void*)filled('i', 18), 18};
  if (pwritev2(fd, &part, 1, 20, RWF_APPEND) < 0) must(errno == EOPNOTSUPP, "pwritev2");
  part = (struct iovec){(void*)filled('j', 19), 19};
  if (pwritev2(fd, &part, 1, -1, RWF_APPEND) < 0) must(errno == EOPNOTSUPP, "pwritev2");
  must(pwrite(fd, filled('k', 20), 20, 30) == 20, "pwrite at last");
  close(fd);
  close(other);
  fd = open(path, O_RDWR | O_APPEND);
  struct aiocb request = {.aio_fildes = fd, .aio_buf = (void*)filled('l', 21), .aio_nbytes = 21};
  must(aio_write(&request) == 0, "aio_write");
  while (aio_error(&request) == EINPROGRESS) usleep(100);
  must(aio_return(&request) == 21, "aio_return");
  close(fd);
}

static void streams(const char* path) {
  FILE* stream = fopen(path, "a");
  must(stream != NULL, "fopen");
  must(fwrite(filled('a', 100), 1, 100, stream) == 100, "fwrite");
  must(fputs("bbbbbb", stream) >= 0, "fputs");
  must(fflush(stream) == 0, "fflush");
  must(fprintf(stream, "%s", "ccccccc") == 7, "fprintf");
  fclose(stream);
  stream = fopen(path, "a+");
  must(stream != NULL && setvbuf(stream, NULL, _IONBF, 0) == 0, "fopen");
  must(fseek(stream, 2, SEEK_SET) == 0, "fseek");
  must(fwrite(filled('d', 50), 1, 50, stream) == 50, "fwrite");
  must(fprintf(stream, "%s", "eeeeeeee") == 8, "fprintf");
  must(fseek(stream, 4, SEEK_SET) == 0, "fseek");
  char got[30];
  must(fread(got, 1, 30, stream) == 30, "fread");
  fclose(stream);
  int fd = open(path, O_WRONLY);
  stream = fdopen(fd, "a");
  must(stream != NULL && setvbuf(stream, NULL, _IONBF, 0) == 0, "fdopen");
  must(fwrite(filled('f', 60), 1, 60, stream) == 60, "fwrite by fdopen");
  must(pwrite(fd, filled('g', 61), 61, 0) == 61, "pwrite beside fdopen");
  fclose(stream);
}

// LINES blocks by each of several writers, whose lengths tell them apart.
static int shared_fd;
static long lines;
static void* writer(void* number) {
  for (long i = 0; i < lines; i++) {
    char line[64];
    const long length = 1 + (long)number;
    memset(line, 'A' + (int)(long)number, sizeof line);
    must(write(shared_fd, line, (size_t)length) == length, "write");
  }
  return NULL;
}

static void many(const char* how, const char* path) {
  const int flags = strncmp(how, "append", 6) == 0 ? O_APPEND : 0;
  if (strstr(how, "own") == NULL) shared_fd = open(path, O_RDWR | flags);
  pthread_t threads[3];
  for (long number = 1; number < 4; number++) {
    if (strstr(how, "threads") != NULL) {
      must(pthread_create(&threads[number - 1], NULL, writer, (void*)number) == 0, "thread");
    } else if (fork() == 0) {
      if (strstr(how, "own") != NULL) shared_fd = open(path, O_RDWR | flags);
      writer((void*)number);
      exit(0);
    }
  }
  if (strstr(how, "own") != NULL) shared_fd = open(path, O_RDWR | flags);
  writer((void*)0);
  for (int i = 0; i < 3; i++) {
    int status = 0;
    if (strstr(how, "threads") != NULL) {
      pthread_join(threads[i], NULL);
    } else {
      must(wait(&status) > 0 && status == 0, "wait");
    }
  }
}

// A child sets the flag of the open file that both have.
static void child_sets(const char* path) {
  int fd = open(path, O_RDWR);
  must(write(fd, filled('a', 10), 10) == 10, "write");
  if (fork() == 0) _exit(fcntl(fd, F_SETFL, O_APPEND) == 0 ? 0 : 1);
  int status = 0;
  must(wait(&status) > 0 && status == 0, "wait");
  must(pwrite(fd, filled('b', 11), 11, 0) == 11, "pwrite");
  must(write(fd, filled('c', 12), 12) == 12, "write");
}

// A child that libc makes and that executes this program sets it.
static void made_child_sets(const char* how, const char* path, char* program) {
  int fd = open(path, O_RDWR);
  must(write(fd, filled('a', 10), 10) == 10, "write");
  char number[16], command[4096];
  snprintf(number, sizeof number, "%d", fd);
  snprintf(command, sizeof command, "'%s' set-append %s", program, number);
  char* words[] = {program, (char*)"set-append", number, NULL};
  int status = 0;
  pid_t child = 0;
  if (strcmp(how, "system-sets") == 0) {
    status = system(command);
  } else if (strcmp(how, "popen-sets") == 0) {
    FILE* const stream = popen(command, "r");
    must(stream != NULL, "popen");
    status = pclose(stream);
  } else {
    must(posix_spawn(&child, program, NULL, NULL, words, environ) == 0, "posix_spawn");
    must(waitpid(child, &status, 0) == child, "wait");
  }
  must(status == 0, "the child");
  must(pwrite(fd, filled('b', 11), 11, 0) == 11, "pwrite");
  must(write(fd, filled('c', 12), 12) == 12, "write");
}

// By a descriptor that its parent opened.
static void inherited(void) {
  must(write(1, filled('a', 10), 10) == 10, "write");
  must(pwrite(1, filled('b', 11), 11, 0) == 11, "pwrite");
  must(lseek(1, 0, SEEK_SET) == 0, "lseek");
  must(write(1, filled('c', 4096), 4096) == 4096, "write");
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  lines = argc > 3 ? atol(argv[3]) : 0;
  if (strcmp(argv[1], "forms") == 0) {
    forms(argv[2]);
  } else if (strcmp(argv[1], "streams") == 0) {
    streams(argv[2]);
  } else if (strcmp(argv[1], "child-sets") == 0) {
    child_sets(argv[2]);
  } else if (strcmp(argv[1], "set-append") == 0) {
    return fcntl(atoi(argv[2]), F_SETFL, O_APPEND) != 0;
  } else if (strstr(argv[1], "-sets") != NULL) {
    made_child_sets(argv[1], argv[2], argv[0]);
  } else if (strcmp(argv[1], "inherited") == 0) {
    inherited();
  } else {
    many(argv[1], argv[2]);
  }
  return 0;
}
