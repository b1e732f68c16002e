/* Reads a file by a stride while a signal's handler reads it, synchronises it and writes to it.
 *
 *   cache_signals FILE ROUNDS
 *
 * FILE is made here: 512 blocks, each of the number of the time that it was written. The main loop
 * reads every fourth, and knows of each how often it was written before, and after, the read. The
 * handler comes some time after it has ended, at whatever instruction. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { kBlocks = 512, kBytes = 4096, kWords = kBytes / 8 };
static volatile uint64_t written[kBlocks], begun[kBlocks];
static const char* path;
static int fd;
static volatile long handled, wrong, next;

static void call_later(void) {
  const struct itimerval once = {{0, 0}, {0, 300 + handled * 37 % 1000}};
  setitimer(ITIMER_REAL, &once, NULL);
}

static void write_block(long block) {
  static uint64_t words[kWords];
  const uint64_t version = ++begun[block];
  for (int i = 0; i < kWords; ++i) words[i] = version << 16 | (uint64_t)block;
  const int to = open(path, O_WRONLY);
  if (to < 0 || pwrite(to, words, kBytes, block * kBytes) != kBytes) wrong = 1;
  close(to);
  written[block] = version;
}

static void handle(int signal) {
  (void)signal;
  static uint64_t words[kWords];
  const int kept = errno;
  const long block = (next + 4 * (handled % 5)) % kBlocks;
  const uint64_t expected = begun[block] << 16 | (uint64_t)block;
  if (pread(fd, words, kBytes, block * kBytes) != kBytes || words[9] != expected) wrong = 2;
  if (handled % 16 == 3) fsync(fd);
  if (handled % 32 == 7) write_block(block);
  ++handled;
  call_later();
  errno = kept;
}

int main(int count, char** words) {
  if (count != 3) return 2;
  path = words[1];
  const int make = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (make < 0 || ftruncate(make, (off_t)kBlocks * kBytes) != 0) return 2;
  close(make);
  for (long block = 0; block < kBlocks; ++block) write_block(block);
  fd = open(path, O_RDONLY);
  struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
  static uint64_t to[kWords];
  const struct itimerval never = {{0, 0}, {0, 0}};
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGALRM);
  for (int round = 0; round < atoi(words[2]) && wrong == 0; ++round) {
    /* Threads are started while no handler is there: the first round has none. */
    if (round == 1) {
      sigaction(SIGALRM, &action, NULL);
      call_later();
    }
    for (long block = 0; block < kBlocks; block += 4) {
      next = block;
      const uint64_t before = written[block];
      if (pread(fd, to, kBytes, block * kBytes) != kBytes) wrong = 3;
      const uint64_t after = begun[block];
      for (int i = 0; i < kWords && wrong == 0; ++i) {
        const uint64_t version = to[i] >> 16;
        if (version < before || version > after || (to[i] & 0xffff) != (uint64_t)block) wrong = 4;
      }
      const struct timespec pause = {0, 300000};
      nanosleep(&pause, NULL);
    }
  }
  setitimer(ITIMER_REAL, &never, NULL);
  if (wrong != 0) fprintf(stderr, "wrong: %ld at block %ld\n", wrong, next);
  printf("%ld\n", handled);
  return wrong != 0;
}
