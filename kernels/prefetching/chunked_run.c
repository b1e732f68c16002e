#define _GNU_SOURCE
#include "chunked_run.h"

#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static long number(const char* text, long least) {
  char* end;
  const long value = strtol(text, &end, 10);
  if (end == text || *end != '\0' || value < least) {
    fprintf(stderr, "%s: no number of %ld or more\n", text, least);
    exit(2);
  }
  return value;
}

void chunked_begin(struct chunked_run* run, int argc, char** argv) {
  static const struct option kOptions[] = {{"output", required_argument, NULL, 'o'},
                                           {"rank", required_argument, NULL, 'r'},
                                           {"ranks", required_argument, NULL, 'n'},
                                           {"chunk", required_argument, NULL, 'c'},
                                           {"pause-us", required_argument, NULL, 'p'},
                                           {"start-ns", required_argument, NULL, 's'},
                                           {NULL, 0, NULL, 0}};
  int64_t start_ns = 0;
  memset(run, 0, sizeof *run);
  run->ranks = 1;
  run->out = -1;
  int option;
  while ((option = getopt_long(argc, argv, "", kOptions, NULL)) != -1) {
    if (option == 'o') {
      run->output = optarg;
    } else if (option == 'r') {
      run->rank = number(optarg, 0);
    } else if (option == 'n') {
      run->ranks = number(optarg, 1);
    } else if (option == 'c') {
      run->chunk_bytes = (size_t)number(optarg, 0);
    } else if (option == 'p') {
      run->pause_us = number(optarg, 0);
    } else if (option == 's') {
      start_ns = number(optarg, 0);
    } else {
      exit(2);
    }
  }
  if (optind + 1 != argc || run->rank >= run->ranks) {
    fprintf(stderr,
            "%s FILE [--output FILE] [--rank R --ranks N] [--chunk BYTES] [--pause-us U]"
            " [--start-ns T]\n",
            argv[0]);
    exit(2);
  }
  /* As after a barrier: no process is ahead because it was started first. */
  const struct timespec start = {(time_t)(start_ns / 1000000000), (long)(start_ns % 1000000000)};
  if (start_ns != 0) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &start, NULL);
  run->input = argv[optind];
  run->begin_ns = now_ns();
  run->in = open(run->input, O_RDONLY);
  if (run->in < 0) {
    perror(run->input);
    exit(2);
  }
  if (run->output == NULL) return;
  run->out = open(run->output, O_WRONLY | O_CREAT, 0644);
  if (run->out < 0) {
    perror(run->output);
    exit(2);
  }
}

void chunked_read(struct chunked_run* run, void* to, size_t bytes, int64_t offset) {
  const int64_t before = now_ns();
  size_t done = 0;
  while (done < bytes) {
    const ssize_t part = pread(run->in, (char*)to + done, bytes - done, offset + (int64_t)done);
    if (part <= 0) {
      fprintf(stderr, "%s: could not be read at %" PRId64 "\n", run->input, offset);
      exit(1);
    }
    done += (size_t)part;
  }
  run->reads_ns += now_ns() - before;
}

void chunked_write(struct chunked_run* run, const void* from, size_t bytes, int64_t offset) {
  const int64_t before = now_ns();
  size_t done = 0;
  while (done < bytes) {
    const ssize_t part =
        pwrite(run->out, (const char*)from + done, bytes - done, offset + (int64_t)done);
    if (part <= 0) {
      perror(run->output);
      exit(1);
    }
    done += (size_t)part;
  }
  run->writes_ns += now_ns() - before;
}

int chunked_pause(const struct chunked_run* run, size_t bytes) {
  if (run->pause_us == 0) return 0;
  const int64_t ns = (int64_t)((double)run->pause_us * 1000.0 * (double)bytes / CHUNK_UNIT);
  const struct timespec pause = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
  nanosleep(&pause, NULL);
  return 1;
}

int64_t chunked_input_bytes(const struct chunked_run* run) {
  struct stat status;
  return fstat(run->in, &status) == 0 ? (int64_t)status.st_size : 0;
}

void chunked_add_check(struct chunked_run* run, uint64_t value) {
  run->check = (run->check ^ value) * UINT64_C(0x100000001b3);
}

int chunked_end(struct chunked_run* run) {
  const int failed = close(run->in) != 0 || (run->out >= 0 && close(run->out) != 0);
  printf("%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %016" PRIx64 "\n", run->begin_ns,
         now_ns(), run->reads_ns, run->writes_ns, run->check);
  return failed;
}
