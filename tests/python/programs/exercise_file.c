// Random calls on one file, each compared with the file as it should be, in memory: writes, reads,
// truncations, holes, seeks, appends, second descriptors, maps, renames, opening again. It runs on
// any directory.
//
//   exercise_file FILE SEED CALLS [WITHOUT…]
//
// FILE must not be there; it stays, and a copy of what it should hold is FILE.expected. WITHOUT
// names kinds of calls that are left out (map, punch, rename, append …). What the file system
// refuses as not supported is counted and said. The exit status is 1 where the two differ, and the
// latest calls are printed.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kMost = 400000, kLongest = 20000, kLines = 40 };

static const char* path;
static char other_path[4096];
static char* without[32];
static int without_count;

static unsigned char model[kMost];
static long size;
static int fd = -1, second = -1;  // second: another open of the same file, or -1

static char lines[kLines][160];
static long line_count;
static long refused;
static uint64_t state;

static uint64_t draw(uint64_t below) {
  // xorshift64*: the same calls on every machine
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return (state * 2685821657736338717u >> 16) % below;
}

static void note(const char* format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(lines[line_count++ % kLines], sizeof lines[0], format, values);
  va_end(values);
}

static void fail(const char* format, ...) {
  const long first = line_count > kLines ? line_count - kLines : 0;
  for (long i = first; i < line_count; ++i) {
    fprintf(stderr, "%6ld %s\n", i, lines[i % kLines]);
  }
  va_list values;
  va_start(values, format);
  fprintf(stderr, "exercise_file: %s: ", path);
  vfprintf(stderr, format, values);
  va_end(values);
  fprintf(stderr, " (%s)\n", strerror(errno));
  exit(1);
}

static int is_without(const char* kind) {
  for (int i = 0; i < without_count; ++i) {
    if (strcmp(without[i], kind) == 0) return 1;
  }
  return 0;
}

static long draw_offset(void) {
  // Often near the end, and in a small part of the file, so that calls meet.
  const uint64_t kind = draw(10);
  const long near = size - (long)draw(100);
  if (kind == 0 && near >= 0 && near < kMost - kLongest) return near;
  if (kind < 5) return (long)draw(5000);
  return (long)draw(kMost - kLongest);
}

static long draw_length(void) {
  return 1 + (long)draw(draw(4) == 0 ? kLongest - 1 : 300);
}

static int some_descriptor(void) {
  return second >= 0 && draw(3) == 0 ? second : fd;
}

static unsigned char bytes[kLongest];

static void fill(long length) {
  const unsigned char first = (unsigned char)(1 + draw(255));
  for (long i = 0; i < length; ++i) bytes[i] = (unsigned char)(first + i * 7) | 1;
}

static void wrote(long offset, long length) {
  memcpy(model + offset, bytes, (size_t)length);
  if (offset + length > size) size = offset + length;
}

static void expect(long offset, const unsigned char* found, long count, long wanted) {
  const long right = offset >= size ? 0 : wanted < size - offset ? wanted : size - offset;
  if (count != right) fail("%ld bytes at %ld instead of %ld", count, offset, right);
  for (long i = 0; i < count; ++i) {
    if (found[i] != model[offset + i]) {
      fail("byte %ld is %02x instead of %02x", offset + i, found[i], model[offset + i]);
    }
  }
}

static void call_write(void) {
  const long offset = draw_offset(), length = draw_length();
  const int at = some_descriptor();
  const uint64_t how = draw(4);
  fill(length);
  note("write %ld +%ld, form %d, descriptor %d", offset, length, (int)how, at);
  ssize_t done = -1;
  if (how == 0) {
    if (lseek(at, offset, SEEK_SET) != offset) fail("seek");
    done = write(at, bytes, (size_t)length);
    if (lseek(at, 0, SEEK_CUR) != offset + length) fail("the position after a write");
  } else if (how == 1) {
    const long half = length / 2;
    struct iovec parts[2] = {{bytes, (size_t)half}, {bytes + half, (size_t)(length - half)}};
    done = pwritev(at, parts, 2, offset);
  } else {
    done = pwrite(at, bytes, (size_t)length, offset);
  }
  if (done != length) fail("wrote %ld of %ld", (long)done, length);
  wrote(offset, length);
}

static void call_read(void) {
  const long offset = draw_offset(), length = draw_length();
  const int at = some_descriptor();
  const uint64_t how = draw(4);
  static unsigned char found[kLongest];
  note("read %ld +%ld, form %d, descriptor %d", offset, length, (int)how, at);
  ssize_t done = -1;
  if (how == 0) {
    if (lseek(at, offset, SEEK_SET) != offset) fail("seek");
    done = read(at, found, (size_t)length);
    if (lseek(at, 0, SEEK_CUR) != offset + done) fail("the position after a read");
  } else if (how == 1) {
    const long half = length / 2;
    struct iovec parts[2] = {{found, (size_t)half}, {found + half, (size_t)(length - half)}};
    done = preadv(at, parts, 2, offset);
  } else {
    done = pread(at, found, (size_t)length, offset);
  }
  if (done < 0) fail("read");
  expect(offset, found, (long)done, length);
}

static void call_append(void) {
  const long length = draw_length();
  if (size + length > kMost) return;
  fill(length);
  const long before = size;
  note("append +%ld at %ld", length, before);
  const int at = open(path, O_WRONLY | O_APPEND);
  if (at < 0) fail("open to append");
  if (write(at, bytes, (size_t)length) != length) fail("append");
  if (lseek(at, 0, SEEK_CUR) != before + length) fail("the position after an append");
  if (close(at) != 0) fail("close");
  wrote(before, length);
}

static void call_truncate(void) {
  const long to = draw(4) == 0 ? 0 : (long)draw(kMost - kLongest);
  const int by_path = draw(2) == 0;
  note("truncate %ld%s", to, by_path ? " by path" : "");
  if ((by_path ? truncate(path, to) : ftruncate(some_descriptor(), to)) != 0) fail("truncate");
  if (to < size) memset(model + to, 0, (size_t)(size - to));
  size = to;
}

static void call_punch(void) {
  const long offset = draw_offset(), length = draw_length();
  note("punch %ld +%ld", offset, length);
  if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length) != 0) {
    if (errno != EOPNOTSUPP) fail("punch");
    ++refused;
    return;
  }
  if (offset < size) {
    memset(model + offset, 0, (size_t)(length < size - offset ? length : size - offset));
  }
}

static void call_allocate(void) {
  const long offset = draw_offset(), length = draw_length();
  const int zeros = draw(2) == 0, keeps = draw(2) == 0;
  note("allocate %ld +%ld%s%s", offset, length, zeros ? ", zeros" : "", keeps ? ", no size" : "");
  const int mode = (zeros ? FALLOC_FL_ZERO_RANGE : 0) | (keeps ? FALLOC_FL_KEEP_SIZE : 0);
  if (fallocate(fd, mode, offset, length) != 0) {
    if (errno != EOPNOTSUPP) fail("allocate");
    ++refused;
    return;
  }
  const long end = offset + length;
  if (zeros && offset < size) {
    memset(model + offset, 0, (size_t)((end < size ? end : size) - offset));
  }
  if (!keeps && end > size) size = end;
}

// A file system may call zeros data; what it calls a hole must be zeros.
static void call_seek(void) {
  const long offset = draw_offset();
  note("seek to data and holes from %ld", offset);
  errno = 0;
  const off_t data = lseek(fd, offset, SEEK_DATA);
  if (data < 0 && errno != ENXIO) fail("seek to data");
  const long end = data < 0 ? size : data;
  for (long i = offset; i < end; ++i) {
    if (model[i] != 0) fail("data at %ld is behind none (%ld)", i, (long)data);
  }
  if (data >= size) fail("data at %ld, behind the end", (long)data);
  const off_t hole = lseek(fd, offset, SEEK_HOLE);
  if (offset >= size) {
    if (hole >= 0 || errno != ENXIO) fail("a hole at %ld, behind the end", (long)hole);
    return;
  }
  if (hole < offset || hole > size) fail("a hole at %ld of %ld", (long)hole, size);
  if (hole < size && model[hole] != 0) fail("a hole at %ld has data", (long)hole);
  if (lseek(fd, -1, SEEK_END) != size - 1) fail("seek to the end");
}

static void check_status(void) {
  struct stat by_path, by_descriptor;
  if (stat(path, &by_path) != 0 || fstat(fd, &by_descriptor) != 0) fail("stat");
  if (by_path.st_size != size || by_descriptor.st_size != size) {
    fail("the size is %ld by path, %ld by descriptor instead of %ld", (long)by_path.st_size,
         (long)by_descriptor.st_size, size);
  }
  if (!S_ISREG(by_path.st_mode) || by_path.st_ino != by_descriptor.st_ino) fail("not one file");
}

static void call_status(void) {
  note("stat");
  check_status();
}

static void call_sync(void) {
  note("sync");
  if ((draw(2) == 0 ? fsync(fd) : fdatasync(some_descriptor())) != 0) fail("sync");
}

static void open_first(int flags) {
  fd = open(path, O_RDWR | flags, 0640);
  if (fd < 0) fail("open");
}

static void call_reopen(void) {
  note("close and open again");
  if (close(fd) != 0) fail("close");
  open_first(0);
}

static void call_second(void) {
  note(second < 0 ? "a second descriptor" : "no second descriptor");
  if (second >= 0) {
    if (close(second) != 0) fail("close");
    second = -1;
  } else {
    second = draw(2) == 0 ? dup(fd) : open(path, O_RDWR);
    if (second < 0) fail("second descriptor");
  }
}

static void call_rename(void) {
  note("rename, and back");
  if (rename(path, other_path) != 0) fail("rename");
  struct stat about;
  if (stat(path, &about) == 0 || stat(other_path, &about) != 0 || about.st_size != size) {
    fail("after a rename");
  }
  if (rename(other_path, path) != 0) fail("rename back");
}

static void call_map(void) {
  if (size == 0) return;
  note("map all");
  if (fsync(fd) != 0) fail("sync before a map");
  unsigned char* const map = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (map == MAP_FAILED) {
    if (errno != ENODEV) fail("map");
    ++refused;
    return;
  }
  expect(0, map, size, size);
  munmap(map, (size_t)size);
}

// Through what a child inherits.
static void call_child(void) {
  const long offset = draw_offset(), length = draw_length();
  fill(length);
  note("a child writes %ld +%ld", offset, length);
  const pid_t child = fork();
  if (child == 0) {
    if (pwrite(fd, bytes, (size_t)length, offset) != length) _exit(1);
    _exit(close(fd) != 0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) fail("child: %d", status);
  // Who opens a file sees what others closed.
  if (close(fd) != 0) fail("close");
  open_first(0);
  wrote(offset, length);
}

static void check_all(void) {
  static unsigned char found[kMost];
  check_status();
  const ssize_t count = pread(fd, found, sizeof found, 0);
  if (count < 0) fail("read of all");
  expect(0, found, (long)count, kMost);
}

static const struct {
  const char* name;
  void (*call)(void);
  int weight;
} kinds[] = {
    {"write", call_write, 30},      {"read", call_read, 30},    {"append", call_append, 4},
    {"truncate", call_truncate, 4}, {"punch", call_punch, 5},   {"allocate", call_allocate, 3},
    {"seek", call_seek, 6},         {"status", call_status, 6}, {"sync", call_sync, 2},
    {"reopen", call_reopen, 4},     {"second", call_second, 3}, {"rename", call_rename, 1},
    {"map", call_map, 1},           {"child", call_child, 1},
};
enum { kKinds = sizeof kinds / sizeof kinds[0] };

static void one_call(void) {
  int sum = 0;
  for (int i = 0; i < kKinds; ++i) sum += kinds[i].weight;
  int choice = (int)draw((uint64_t)sum);
  for (int i = 0; i < kKinds; ++i) {
    choice -= kinds[i].weight;
    if (choice >= 0) continue;
    if (!is_without(kinds[i].name)) kinds[i].call();
    return;
  }
}

int main(int count, char** words) {
  if (count < 4) {
    fprintf(stderr, "exercise_file FILE SEED CALLS [WITHOUT...]\n");
    return 2;
  }
  path = words[1];
  snprintf(other_path, sizeof other_path, "%s.renamed", path);
  state = strtoull(words[2], NULL, 10) * 2 + 88172645463325253u;
  const long calls = strtol(words[3], NULL, 10);
  for (int i = 4; i < count && without_count < 32; ++i) without[without_count++] = words[i];
  open_first(O_CREAT | O_EXCL);
  for (long i = 0; i < calls; ++i) {
    one_call();
    if (i % 100 == 99) check_all();
  }
  check_all();
  if (second >= 0) close(second);
  if (close(fd) != 0) fail("close");
  open_first(0);
  check_all();
  close(fd);
  char expected[4096];
  snprintf(expected, sizeof expected, "%s.expected", path);
  FILE* const copy = fopen(expected, "w");
  if (copy == NULL || fwrite(model, 1, (size_t)size, copy) != (size_t)size || fclose(copy) != 0) {
    fail("%s cannot be written", expected);
  }
  printf("%ld calls, %ld not supported, %ld bytes\n", calls, refused, size);
  return 0;
}
