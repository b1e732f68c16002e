/* What the kernels of the prefetching papers share: a process reads its share of a file in
 * chunks, works on them, may write them, and prints how long that took. POSIX alone: another
 * program starts the processes and gives each its number. */
#ifndef IOTUNE_CHUNKED_RUN_H
#define IOTUNE_CHUNKED_RUN_H

#include <stddef.h>
#include <stdint.h>

struct chunked_run {
  const char *input, *output; /* output: NULL if none was named */
  long rank, ranks;
  size_t chunk_bytes; /* 0: as the kernel has it */
  long pause_us;      /* for each CHUNK_UNIT; 0: there is none, the work is done */
  int in, out;        /* descriptors; out -1 without an output */
  int64_t begin_ns, reads_ns, writes_ns;
  uint64_t check; /* of the results: runs over one file have one */
};

/* 1024 vectors of Hill's cipher, 25 pages. */
enum { CHUNK_UNIT = 102400 };

/* Options, files, clock. Exits with status 2 where they are wrong. */
void chunked_begin(struct chunked_run* run, int argc, char** argv);

/* Exit with status 1 where not all bytes were moved. */
void chunked_read(struct chunked_run* run, void* to, size_t bytes, int64_t offset);
void chunked_write(struct chunked_run* run, const void* from, size_t bytes, int64_t offset);

/* Pauses for the time that the paper's processor works on so many bytes. False where no pause
 * was asked for: then the caller does the work. */
int chunked_pause(const struct chunked_run* run, size_t bytes);

int64_t chunked_input_bytes(const struct chunked_run* run);
void chunked_add_check(struct chunked_run* run, uint64_t value);

/* Prints "begin end reads writes check", times in ns of the monotonic clock; closes. */
int chunked_end(struct chunked_run* run);

#endif
