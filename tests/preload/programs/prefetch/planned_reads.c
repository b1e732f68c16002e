/* Reads a file as a list says, and tells how long it waited and what was in the page cache before.
 *
 *   planned_reads FILE LIST METHOD PAUSE_US [PATIENCE_MS]
 *   planned_reads FILE make BYTES
 *
 * LIST has lines "offset length". METHOD is pread, read, readv, preadv or fread; pread-alone asks
 * the kernel to read nothing ahead. After each read comes a pause, or, where PAUSE_US begins with a
 * c, so much of computing; with PATIENCE_MS, and from the
 * sixth read on, it lasts until the next extent is in the page cache, so long at most: then it does
 * not depend on the speed of the machine whether a prefetch comes in time. Byte i of FILE is i *
 * 2654435761 >> 24 of the 8-byte word that it lies in: each is compared. On stdout: reads, how many
 * were wholly in the page cache before, ns in reads, ns in all. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct extent {
  long offset, length;
};

static long now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}

static int resident(const char* map, struct extent e, long file_bytes) {
  static unsigned char pages[1 << 16];
  const long page = 4096;
  long first = e.offset / page * page;
  long end = e.offset + e.length < file_bytes ? e.offset + e.length : file_bytes;
  if (first >= end) return 1;
  size_t count = (size_t)((end - first + page - 1) / page);
  if (count > sizeof pages || mincore((void*)(map + first), (size_t)(end - first), pages) != 0) {
    return 0;
  }
  for (size_t i = 0; i < count; ++i) {
    if ((pages[i] & 1) == 0) return 0;
  }
  return 1;
}

static unsigned char byte_at(long offset) {
  return (unsigned char)(((uint32_t)(offset / 8) * 2654435761u) >> 24);
}

static void compute(long ns) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  const long end = t.tv_sec * 1000000000L + t.tv_nsec + ns;
  do {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  } while (t.tv_sec * 1000000000L + t.tv_nsec < end);
}

static int make(const char* path, long bytes) {
  static unsigned char part[1 << 20];
  FILE* const file = fopen(path, "w");
  for (long at = 0; file != NULL && at < bytes; at += (long)sizeof part) {
    for (long i = 0; i < (long)sizeof part; ++i) part[i] = byte_at(at + i);
    const size_t left = (size_t)(bytes - at);
    if (fwrite(part, 1, left < sizeof part ? left : sizeof part, file) == 0) return 1;
  }
  return file == NULL || fclose(file) != 0;
}

int main(int count, char** words) {
  if (count == 4 && strcmp(words[2], "make") == 0) return make(words[1], atol(words[3]));
  if (count < 5) return 2;
  static struct extent list[1 << 20];
  long n = 0, largest = 1;
  FILE* const lines = fopen(words[2], "r");
  if (lines == NULL) return 2;
  while (n < 1 << 20 && fscanf(lines, "%ld %ld", &list[n].offset, &list[n].length) == 2) {
    if (list[n].length > largest) largest = list[n].length;
    ++n;
  }
  fclose(lines);
  const char* const method = words[3];
  const int computes = words[4][0] == 'c';
  const long pause_ns = atol(words[4] + computes) * 1000;
  const long patience_ns = count > 5 ? atol(words[5]) * 1000000 : 0;
  FILE* stream = NULL;
  int fd;
  if (strcmp(method, "fread") == 0) {
    stream = fopen(words[1], "r");
    if (stream == NULL) return 2;
    fd = fileno(stream);
  } else {
    fd = open(words[1], O_RDONLY);
  }
  if (strcmp(method, "pread-alone") == 0) posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0) return 2;
  const char* map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) map = NULL;
  unsigned char* const to = malloc((size_t)largest);
  long cached = 0, waited = 0;
  const long begin = now_ns();
  for (long i = 0; i < n; ++i) {
    const struct extent e = list[i];
    if (map != NULL) cached += resident(map, e, status.st_size);
    ssize_t got = -1;
    struct iovec parts[2] = {{to, (size_t)(e.length / 2)},
                             {to + e.length / 2, (size_t)(e.length - e.length / 2)}};
    const long before = now_ns();
    if (strncmp(method, "pread", 5) == 0 && method[5] != 'v') {
      got = pread(fd, to, (size_t)e.length, e.offset);
    } else if (strcmp(method, "preadv") == 0) {
      got = preadv(fd, parts, 2, e.offset);
    } else if (stream != NULL) {
      if (fseek(stream, e.offset, SEEK_SET) == 0) {
        got = (ssize_t)fread(to, 1, (size_t)e.length, stream);
      }
    } else if (lseek(fd, e.offset, SEEK_SET) == e.offset) {
      got = strcmp(method, "readv") == 0 ? readv(fd, parts, 2) : read(fd, to, (size_t)e.length);
    }
    waited += now_ns() - before;
    const long expected = e.offset >= status.st_size             ? 0
                          : e.offset + e.length > status.st_size ? status.st_size - e.offset
                                                                 : e.length;
    if (got != expected) {
      fprintf(stderr, "read %ld: %zd of %ld bytes\n", i, got, expected);
      return 1;
    }
    for (long at = 0; at < got; at += at + 64 < got ? 61 : 1) {
      if (to[at] != byte_at(e.offset + at)) {
        fprintf(stderr, "read %ld: a wrong byte at %ld\n", i, e.offset + at);
        return 1;
      }
    }
    if (computes) {
      compute(pause_ns);
    } else if (pause_ns > 0) {
      const struct timespec pause = {pause_ns / 1000000000, pause_ns % 1000000000};
      nanosleep(&pause, NULL);
    }
    const long until = now_ns() + patience_ns;
    while (map != NULL && patience_ns > 0 && i >= 5 && i + 1 < n && now_ns() < until &&
           !resident(map, list[i + 1], status.st_size)) {
      usleep(200);
    }
  }
  printf("%ld %ld %ld %ld\n", n, cached, waited, now_ns() - begin);
  return 0;
}
