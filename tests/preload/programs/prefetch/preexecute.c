/* Slices of a program that run ahead of it (include/iotune.h).
 *
 *   preexecute code          prints what iotune_preexecute returns
 *   preexecute reads FILE    a slice names scattered extents
 *   preexecute writes FILE   a slice reads what the program is still to write, and has written
 *
 * FILE is planned_reads's: byte i is i * 2654435761 >> 24 of the 8-byte word that it lies in. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <iotune.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <time.h>
#include <unistd.h>

#define NEED(condition)                                                         \
  do {                                                                          \
    if (!(condition)) {                                                         \
      fprintf(stderr, "line %d: %s (errno %d)\n", __LINE__, #condition, errno); \
      exit(1);                                                                  \
    }                                                                           \
  } while (0)

enum { COUNT = 40, BYTES = 20000 };

static atomic_int g_step; /* of the slice; only it changes it */
static int g_fd;
static const char* g_path;
static char g_buffer[BYTES];

static unsigned char byte_at(long offset) {
  return (unsigned char)(((uint32_t)(offset / 8) * 2654435761u) >> 24);
}

/* Nothing that a predictor could know. */
static off_t extent(int i) {
  return (off_t)((uint32_t)(i + 1) * 2654435761u % 60000000u);
}

static void wait_for_step(int step) {
  const struct timespec moment = {0, 1000000};
  while (atomic_load(&g_step) < step) nanosleep(&moment, NULL);
}

static int resident(const char* map, off_t offset) {
  static unsigned char pages[BYTES / 4096 + 2];
  const off_t first = offset / 4096 * 4096, end = offset + BYTES;
  NEED(mincore((void*)(map + first), (size_t)(end - first), pages) == 0);
  for (off_t i = 0; i < (end - first + 4095) / 4096; ++i)
    if ((pages[i] & 1) == 0) return 0;
  return 1;
}

static void nothing(void* argument) {
  (void)argument;
  atomic_store(&g_step, 1);
}

static void read_slice(void* argument) {
  NEED(argument == &g_step);
  for (int i = 0; i < COUNT; ++i) {
    if (i % 2 == 0) {
      NEED(pread(g_fd, g_buffer, BYTES, extent(i)) == BYTES);
    } else {
      NEED(lseek(g_fd, extent(i), SEEK_SET) == extent(i));
      NEED(read(g_fd, g_buffer, BYTES) == BYTES);
      NEED(lseek(g_fd, 0, SEEK_CUR) == extent(i) + BYTES);
    }
  }
  const off_t end = lseek(g_fd, 0, SEEK_END);
  NEED(end == 64 << 20);
  NEED(read(g_fd, g_buffer, BYTES) == 0);
  NEED(pread(g_fd, g_buffer, BYTES, end - 5) == 5);
  NEED(lseek(g_fd, -1, SEEK_SET) == -1 && errno == EINVAL);
  NEED(write(g_fd, "x", 1) == -1 && errno == EROFS);
  NEED(pwrite(g_fd, "x", 1, 0) == -1 && errno == EROFS);
  NEED(pread(g_fd, g_buffer, 1, -1) == -1 && errno == EINVAL);
  /* What it opened itself it reads. */
  const int own = open(g_path, O_RDONLY);
  unsigned char word[16];
  NEED(own >= 0 && pread(own, word, sizeof word, 8000) == sizeof word);
  for (int i = 0; i < 16; ++i) NEED(word[i] == byte_at(8000 + i));
  NEED(close(own) == 0);
  NEED(fcntl(own, F_GETFD) == -1);
  atomic_store(&g_step, 1);
}

static void open_file(int flags) {
  g_fd = open(g_path, flags);
  NEED(g_fd >= 0);
}

static void reads(void) {
  open_file(O_RDWR);
  NEED(lseek(g_fd, 4321, SEEK_SET) == 4321);
  memset(g_buffer, 'p', sizeof g_buffer);
  NEED(iotune_preexecute(read_slice, &g_step) == 0);
  wait_for_step(1);
  for (int i = 0; i < BYTES; ++i) NEED(g_buffer[i] == 'p');
  NEED(lseek(g_fd, 0, SEEK_CUR) == 4321);
  NEED(lseek(g_fd, 0, SEEK_END) == 64 << 20);
  const char* const map = mmap(NULL, 64 << 20, PROT_READ, MAP_SHARED, g_fd, 0);
  NEED(map != MAP_FAILED);
  int there = 0;
  /* A hint is done when its pages are there, a little later. */
  for (int patience = 0; patience < 2000 && there < COUNT; ++patience) {
    there = 0;
    for (int i = 0; i < COUNT; ++i) there += resident(map, extent(i));
    usleep(1000);
  }
  for (int i = 0; i < COUNT; ++i) {
    NEED(pread(g_fd, g_buffer, BYTES, extent(i)) == BYTES);
    for (int at = 0; at < BYTES; at += 97)
      NEED((unsigned char)g_buffer[at] == byte_at(extent(i) + at));
  }
  printf("%d of %d\n", there, COUNT);
}

static void write_slice(void* argument) {
  (void)argument;
  NEED(pwrite(g_fd, g_buffer, 5000, 100000) == -1 && errno == EROFS);
  NEED(pwrite(g_fd, g_buffer, 5000, 105000) == -1 && errno == EROFS);
  NEED(pread(g_fd, g_buffer, 100, 99900) == 100);
  atomic_store(&g_step, 1);
  NEED(pread(g_fd, g_buffer, 5000, 102500) == 5000);
  atomic_store(&g_step, 2);
  while (atomic_load(&g_step) != 3) usleep(1000);
  /* The program is ahead of this one. */
  NEED(pwrite(g_fd, g_buffer, 5000, 200000) == -1 && errno == EROFS);
  NEED(pread(g_fd, g_buffer, 5000, 200000) == 5000);
  atomic_store(&g_step, 4);
}

static void writes(void) {
  char own[5000];
  memset(own, 'w', sizeof own);
  open_file(O_RDWR);
  NEED(iotune_preexecute(write_slice, NULL) == 0);
  NEED(iotune_preexecute(nothing, NULL) == EBUSY);
  wait_for_step(1);
  NEED(pwrite(g_fd, own, sizeof own, 100000) == 5000);
  usleep(50000);
  NEED(atomic_load(&g_step) == 1); /* half of what it wants is still to be written */
  /* By another call, which counts as well. */
  FILE* const source = tmpfile();
  off_t from = 0;
  NEED(source != NULL && pwrite(fileno(source), own, sizeof own, 0) == 5000);
  NEED(lseek(g_fd, 105000, SEEK_SET) == 105000);
  NEED(sendfile(g_fd, fileno(source), &from, sizeof own) == 5000);
  wait_for_step(2);
  fclose(source);
  NEED(pwrite(g_fd, own, sizeof own, 200000) == 5000);
  atomic_store(&g_step, 3);
  wait_for_step(4);
  /* It ends a moment later; then there may be another one. */
  int code;
  atomic_store(&g_step, 0);
  while ((code = iotune_preexecute(nothing, NULL)) == EBUSY) usleep(1000);
  NEED(code == 0);
  wait_for_step(1);
  char found[5000];
  NEED(pread(g_fd, found, sizeof found, 105000) == 5000);
  NEED(memcmp(own, found, sizeof own) == 0);
  NEED(close(g_fd) == 0);
  printf("written\n");
}

int main(int count, char** words) {
  if (count == 2 && strcmp(words[1], "code") == 0) {
    const int code = iotune_preexecute(nothing, NULL);
    if (code == 0) wait_for_step(1);
    printf("%s\n", code == 0         ? "0"
                   : code == ENOSYS  ? "ENOSYS"
                   : code == ENOTSUP ? "ENOTSUP"
                                     : strerror(code));
    return 0;
  }
  if (count != 3) return 2;
  g_path = words[2];
  if (strcmp(words[1], "reads") == 0) {
    reads();
  } else {
    writes();
  }
  return 0;
}
