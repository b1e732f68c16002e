/* Around lines of C that need no library: test_snippets.py compiles it with each of them. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct part {
  off_t at;
  char* data;
  size_t bytes;
};

static size_t used_records;

static int by_offset(const void* a, const void* b) {
  const off_t one = ((const struct part*)a)->at, other = ((const struct part*)b)->at;
  return (one > other) - (one < other);
}

static void use(const void* record) {
  (void)record;
  ++used_records;
}

int main(int argc, char** argv) {
  const char* name = argv[argc - 1];
  const size_t bytes = 4000, records = 3001, number = 3001;
  const int steps = 3, checkpoint_is_whole = 1;
  int fd = open(name, O_RDWR | O_CREAT, 0644);
  char* data = malloc(bytes * records);
  for (size_t k = 0; k < bytes * records; ++k) data[k] = (char)(k / bytes);
  const char* record = data;
  struct part* parts = malloc(number * sizeof *parts);
  for (size_t k = 0; k < number; ++k) {
    const size_t at = number - 1 - k;
    parts[k] = (struct part){(off_t)(at * bytes), data + at * bytes, bytes};
  }
  char* block = malloc(4 << 20);
  off_t at = 0;
  {
#include "snippet.inc"
  }(void)by_offset,
      (void)use, (void)steps, (void)checkpoint_is_whole, (void)record, (void)block;
  (void)at, (void)records, (void)fd;
  return used_records != 0 && used_records != records && used_records != (size_t)steps;
}
