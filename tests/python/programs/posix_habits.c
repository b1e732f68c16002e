// Ways of doing I/O with POSIX and stdio that `iotune advise` has a finding for, each beside a way
// that has none: posix_habits HABIT [good]. Files are made in the current directory.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SMALL = 512, CALLS = 4096, LARGE = 1 << 20, BULK = 16 };

static char buffer[LARGE * 2];

static void demand(int right, const char* what) {
  if (!right) {
    perror(what);
    exit(1);
  }
}

static int opened(const char* name, int flags) {
  int fd = open(name, flags, 0600);
  demand(fd >= 0, name);
  return fd;
}

static void written(int fd, size_t bytes, off_t offset) {
  demand(pwrite(fd, buffer, bytes, offset) == (ssize_t)bytes, "pwrite");
}

static void read_at(int fd, size_t bytes, off_t offset) {
  demand(pread(fd, buffer, bytes, offset) == (ssize_t)bytes, "pread");
}

// A file to read, made by truncation alone, so that no call of ours writes it.
static int prepared(off_t bytes) {
  int fd = opened("in.bin", O_RDWR | O_CREAT | O_TRUNC);
  demand(ftruncate(fd, bytes) == 0, "ftruncate");
  return fd;
}

static void small_writes(int good) {
  int fd = opened("out.bin", O_WRONLY | O_CREAT | O_TRUNC);
  size_t each = good ? LARGE : SMALL;
  for (off_t at = 0; at < (off_t)SMALL * CALLS; at += (off_t)each) {
    written(fd, each, at);
  }
  close(fd);
}

static void small_reads(int good) {
  int fd = prepared((off_t)SMALL * CALLS);
  size_t each = good ? LARGE : SMALL;
  for (off_t at = 0; at < (off_t)SMALL * CALLS; at += (off_t)each) {
    read_at(fd, each, at);
  }
  close(fd);
}

static void random_reads(int good) {
  int fd = prepared((off_t)CALLS * 65536);
  unsigned state = 1;
  for (int k = 0; k < CALLS; ++k) {
    state = state * 1664525U + 1013904223U;
    int block = good ? k : (int)((state >> 12) % CALLS);
    read_at(fd, 65536, (off_t)block * 65536);
  }
  close(fd);
}

static void random_writes(int good) {
  int fd = opened("out.bin", O_WRONLY | O_CREAT | O_TRUNC);
  for (int k = 0; k < 256; ++k) {
    int block = k;
    if (!good) {  // each place once: the number's bits the other way round
      block = 0;
      for (int bit = 0; bit < 8; ++bit) {
        block |= (k >> bit & 1) << (7 - bit);
      }
    }
    written(fd, 65536, (off_t)block * 65536);
  }
  close(fd);
}

static void redundant_reads(int good) {
  int fd = prepared((off_t)4 * LARGE);
  for (int round = 0; round < (good ? 1 : 8); ++round) {
    for (int k = 0; k < 4; ++k) {
      read_at(fd, LARGE, (off_t)k * LARGE);
    }
  }
  close(fd);
}

static void redundant_writes(int good) {
  int fd = opened("out.bin", O_WRONLY | O_CREAT | O_TRUNC);
  for (int k = 0; k < 32; ++k) {
    written(fd, LARGE, good ? (off_t)k * LARGE : 0);
  }
  close(fd);
}

static void misaligned(int good) {
  int fd = opened("out.bin", O_WRONLY | O_CREAT | O_TRUNC);
  for (int k = 63; k >= 0; --k) {
    written(fd, 65536, (off_t)k * 2 * 65536 + (good ? 0 : 100));
  }
  close(fd);
}

static void syncs(int good) {
  int fd = opened("out.bin", O_WRONLY | O_CREAT | O_TRUNC);
  for (int k = 0; k < 64; ++k) {
    written(fd, LARGE / 8, (off_t)k * LARGE / 8);
    if (!good) {
      demand(fsync(fd) == 0, "fsync");
    }
  }
  demand(fsync(fd) == 0, "fsync");
  close(fd);
}

static void seeks(int good) {
  int fd = prepared((off_t)CALLS * 65536);
  for (int k = 0; k < CALLS; ++k) {
    if (good) {
      read_at(fd, 65536, (off_t)k * 65536);
    } else {
      demand(lseek(fd, (off_t)k * 65536, SEEK_SET) >= 0, "lseek");
      demand(read(fd, buffer, 65536) == 65536, "read");
    }
  }
  close(fd);
}

static void bulk_through_stdio(int good) {
  if (good) {
    int fd = opened("out.bin", O_WRONLY | O_CREAT | O_TRUNC);
    for (int k = 0; k < BULK * 8; ++k) {
      written(fd, LARGE, (off_t)k * LARGE);
    }
    close(fd);
    return;
  }
  FILE* file = fopen("out.bin", "w");
  demand(file != NULL, "fopen");
  for (int k = 0; k < BULK * 8; ++k) {
    demand(fwrite(buffer, 1, LARGE, file) == LARGE, "fwrite");
  }
  fclose(file);
}

static void opens(int good) {
  int fd = opened("out.bin", O_WRONLY | O_CREAT | O_TRUNC);
  for (int k = 0; k < 500; ++k) {
    if (!good) {
      close(fd);
      fd = opened("out.bin", O_WRONLY);
    }
    written(fd, 65536, (off_t)k * 65536);
  }
  close(fd);
}

static void stats(int good) {
  int fd = opened("out.bin", O_WRONLY | O_CREAT | O_TRUNC);
  for (int k = 0; k < 500; ++k) {
    struct stat status;
    if (!good) {
      demand(stat("out.bin", &status) == 0, "stat");
      demand(access("out.bin", W_OK) == 0, "access");
    }
    written(fd, 65536, (off_t)k * 65536);
  }
  close(fd);
}

static void many_files(int good) {
  int fd = good ? opened("all.bin", O_WRONLY | O_CREAT | O_TRUNC) : -1;
  for (int k = 0; k < 400; ++k) {
    char name[64];
    snprintf(name, sizeof name, "part%04d.bin", k);
    if (good && k % 16 != 0) {
      continue;  // sixteen records in one request
    }
    if (!good) {
      fd = opened(name, O_WRONLY | O_CREAT | O_TRUNC);
    }
    written(fd, good ? 65536 : 4096, good ? (off_t)k * 4096 : 0);
    if (!good) {
      close(fd);
    }
  }
  if (good) {
    close(fd);
  }
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(int good);
  } habits[] = {
      {"small-writes", small_writes},
      {"small-reads", small_reads},
      {"random-reads", random_reads},
      {"random-writes", random_writes},
      {"redundant-reads", redundant_reads},
      {"redundant-writes", redundant_writes},
      {"misaligned", misaligned},
      {"syncs", syncs},
      {"seeks", seeks},
      {"stdio", bulk_through_stdio},
      {"opens", opens},
      {"stats", stats},
      {"many-files", many_files},
  };
  int good = argc > 2 && strcmp(argv[2], "good") == 0;
  for (size_t k = 0; argc > 1 && k < sizeof habits / sizeof *habits; ++k) {
    if (strcmp(argv[1], habits[k].name) == 0) {
      habits[k].run(good);
      return 0;
    }
  }
  fprintf(stderr, "posix_habits: which habit?\n");
  return 2;
}
