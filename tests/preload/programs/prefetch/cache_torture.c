/* Reads shared files by a pattern while others change them, and compares with a model.
 *
 *   cache_torture DIRECTORY MILLISECONDS SEED
 *   cache_torture write BLOCK COUNT VERSION     by itself: writes to its stdin
 *
 * Three processes of two readers and one writer each. A block's words hold its number and version.
 * Of each block the model knows the version that was written last, and the one that is being
 * written: whatever a read returns lies in between, and its length is what the size says. Sizes and
 * names change while nobody reads. Descriptors stay open over all of that: the model is the
 * inode's. On stdout: reads. Exit status 1: something was stale, or wrong; stderr says what. */
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kBlocks = 96, kBlockBytes = 4096, kWords = kBlockBytes / 8, kFiles = 2, kModels = 512 };
enum { kProcesses = 3, kReaders = 2 };

struct model {
  _Atomic uint64_t written[kBlocks], begun[kBlocks];
  _Atomic long blocks;
};
struct shared {
  pthread_rwlock_t lock[kFiles];
  _Atomic int model_of[kFiles], next_model;
  _Atomic uint64_t version;
  _Atomic long reads, wrong;
  struct model models[kModels];
};
static struct shared* all;
static char paths[kFiles][512];
static int64_t end_ns;

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}
static void rest_us(long us) {
  const struct timespec t = {0, us * 1000};
  nanosleep(&t, NULL);
}
static void must(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  _exit(2);
}
static uint64_t word_of(long block, uint64_t version) {
  return (uint64_t)(block + 1) << 40 | version;
}
static void fill(uint64_t* words, long block, uint64_t version) {
  for (int i = 0; i < kWords; ++i) words[i] = word_of(block, version);
}

/* One read of `count` blocks in whatever way; the position is `block` where it counts. */
static void check_read(int file, struct model* model, int fd, long block, long count, int way) {
  static __thread uint64_t to[4 * kWords];
  uint64_t before[4];
  pthread_rwlock_rdlock(&all->lock[file]);
  for (long i = 0; i < count && block + i < kBlocks; ++i) before[i] = model->written[block + i];
  const long left = model->blocks - block;
  const long expected = (left < 0 ? 0 : left < count ? left : count) * kBlockBytes;
  const size_t bytes = (size_t)(count * kBlockBytes);
  const off_t at = block * kBlockBytes;
  struct iovec parts[2] = {{to, 1000}, {(char*)to + 1000, bytes - 1000}};
  memset(to, 0xee, bytes);
  ssize_t got = 0;
  if (way == 0 || way == 1) must(lseek(fd, at, SEEK_SET) == at, "lseek");
  if (way == 0) got = read(fd, to, bytes);
  if (way == 1) got = readv(fd, parts, 2);
  if (way == 2) got = pread(fd, to, bytes, at);
  if (way == 3) got = preadv(fd, parts, 2, at);
  if (way == 4) got = preadv2(fd, parts, 2, at, 0);
  const off_t position = way < 2 ? lseek(fd, 0, SEEK_CUR) : at + expected;
  if (got != expected || position != at + expected) {
    fprintf(stderr, "file %d block %ld way %d: %zd of %ld bytes, at %ld\n", file, block, way, got,
            expected, (long)position);
    all->wrong++;
  }
  for (long i = 0; i < got / 8; ++i) {
    const long here = block + i / kWords;
    const uint64_t oldest = before[i / kWords], newest = model->begun[here];
    const uint64_t version = to[i] & ((1ull << 40) - 1);
    if (version >= oldest && version <= newest && (to[i] == 0 || to[i] == word_of(here, version))) {
      continue;
    }
    fprintf(stderr, "file %d block %ld way %d word %ld: %lx, versions %lu to %lu\n", file, here,
            way, i, (long)to[i], (long)oldest, (long)newest);
    all->wrong++;
    break;
  }
  pthread_rwlock_unlock(&all->lock[file]);
  all->reads++;
}

/* The descriptor under another number, by whatever call; it may have been closed meanwhile. */
static int renumbered(int fd, unsigned* seed) {
  const int way = rand_r(seed) % 4;
  int copy = -1;
  if (way == 0) copy = dup(fd);
  if (way == 1) copy = fcntl(fd, F_DUPFD_CLOEXEC, 100);
  if (way >= 2) {
    /* Over one that is open, and may have been read ahead of, too. */
    const int file = rand_r(seed) % kFiles;
    pthread_rwlock_rdlock(&all->lock[file]);
    const int other = open(paths[file], way == 2 ? O_RDONLY : O_RDWR);
    char byte;
    must(other >= 0 && pread(other, &byte, 1, 0) == 1, "read another");
    pthread_rwlock_unlock(&all->lock[file]);
    copy = dup2(fd, other);
  }
  must(copy >= 0, "dup");
  close(fd);
  return copy;
}

/* Goes on reading in a child, by the same descriptor. */
static void read_in_child(int file, struct model* model, int fd, long stride, int way) {
  const pid_t child = fork();
  if (child == 0) {
    for (long block = 0; block < kBlocks / 2; block += stride) {
      check_read(file, model, fd, block, 1, way < 2 ? 2 : way);
      rest_us(300);
    }
    _exit(0);
  }
  int status = 0;
  must(waitpid(child, &status, 0) == child && status == 0, "reading child");
}

static void* reader(void* argument) {
  unsigned seed = (unsigned)(uintptr_t)argument;
  while (now_ns() < end_ns && all->wrong == 0) {
    const int file = rand_r(&seed) % kFiles;
    pthread_rwlock_rdlock(&all->lock[file]);
    int fd = open(paths[file], O_RDONLY);
    struct model* const model = &all->models[all->model_of[file]];
    pthread_rwlock_unlock(&all->lock[file]);
    must(fd >= 0, "open");
    const long stride = 2 + rand_r(&seed) % 3, count = 1 + rand_r(&seed) % 2;
    const int way = rand_r(&seed) % 5, rounds = 1 + rand_r(&seed) % 3;
    for (int round = 0; round < rounds; ++round) {
      for (long block = 0; block < kBlocks; block += stride) {
        check_read(file, model, fd, block, count, way);
        rest_us(50 + rand_r(&seed) % 300);
      }
      const int between = rand_r(&seed) % 8;
      if (between < 3) fd = renumbered(fd, &seed);
      if (between == 3 || between == 4) fsync(fd);
      if (between == 5) read_in_child(file, model, fd, stride, way);
      if (between == 6) {
        const int flags = fcntl(fd, F_GETFL);
        fcntl(fd, F_SETFL, flags ^ O_DIRECT); /* refused by some file systems */
      }
    }
    close(fd);
  }
  return NULL;
}

/* By another program, which is given the descriptor as its stdin: opened here, or by libc where no
 * wrapper is. */
static void write_by_program(const char* path, int flags, long block, long count,
                             uint64_t version) {
  char words[3][24];
  snprintf(words[0], sizeof words[0], "%ld", block);
  snprintf(words[1], sizeof words[1], "%ld", count);
  snprintf(words[2], sizeof words[2], "%lu", (long)version);
  char* const line[] = {"cache_torture", "write", words[0], words[1], words[2], NULL};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, path, O_WRONLY | flags, 0);
  pid_t child = 0;
  int status = 0;
  must(posix_spawn(&child, "/proc/self/exe", &actions, NULL, line, environ) == 0, "spawn");
  posix_spawn_file_actions_destroy(&actions);
  must(waitpid(child, &status, 0) == child && status == 0, "writing program");
}

static int write_stdin(long block, long count, uint64_t version) {
  static uint64_t words[kWords];
  for (long i = block; i < block + count; ++i) {
    fill(words, i, version);
    must(pwrite(0, words, kBlockBytes, i * kBlockBytes) == kBlockBytes, "write stdin");
  }
  return 0;
}

/* In a child of its own: a mapping counts for as long as its process lives. */
static void write_by_mapping(const char* path, const uint64_t* from, size_t bytes, off_t at) {
  const pid_t child = fork();
  if (child == 0) {
    const int fd = open(path, O_RDWR);
    char* const to = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);
    if (to == MAP_FAILED) { /* a mount past the page cache has none */
      _exit(pwrite(fd, from, bytes, at) == (ssize_t)bytes ? 0 : 1);
    }
    close(fd);
    memcpy(to, from, bytes);
    msync(to, bytes, MS_SYNC);
    _exit(0);
  }
  int status = 0;
  must(waitpid(child, &status, 0) == child && status == 0, "mapping child");
}

/* The bytes, in a file of this thread's own. */
static int source_of(const char* path, const uint64_t* from, size_t bytes) {
  char name[600];
  snprintf(name, sizeof name, "%s.%lx", path, (long)pthread_self());
  const int source = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
  must(source >= 0 && write(source, from, bytes) == (ssize_t)bytes, "source");
  unlink(name);
  return source;
}

/* By the calls that are given two descriptors, or no buffer at once. */
static void move_to(int fd, int way, const char* path, const uint64_t* from, size_t bytes,
                    off_t at) {
  ssize_t moved = -1;
  if (way == 0) {
    const int source = source_of(path, from, bytes);
    off_t in = 0, out = at;
    moved = copy_file_range(source, &in, fd, &out, bytes, 0);
    close(source);
  } else if (way == 1) {
    const int source = source_of(path, from, bytes);
    off_t in = 0;
    must(lseek(fd, at, SEEK_SET) == at, "lseek");
    moved = sendfile(fd, source, &in, bytes);
    close(source);
  } else if (way == 2) {
    int ends[2];
    must(pipe(ends) == 0 && write(ends[1], from, bytes) == (ssize_t)bytes, "pipe");
    off_t out = at;
    moved = splice(ends[0], NULL, fd, &out, bytes, 0);
    close(ends[0]);
    close(ends[1]);
  } else if (way == 3) {
    struct aiocb request = {.aio_fildes = fd, .aio_buf = (void*)from, .aio_nbytes = bytes};
    request.aio_offset = at;
    const struct aiocb* const list[] = {&request};
    must(aio_write(&request) == 0, "aio_write");
    while (aio_error(&request) == EINPROGRESS) aio_suspend(list, 1, NULL);
    moved = aio_return(&request);
  } else {
    struct iovec parts[2] = {{(void*)from, 1000}, {(char*)from + 1000, bytes - 1000}};
    moved = pwritev2(fd, parts, 2, at, 0);
  }
  if (moved != (ssize_t)bytes) must(pwrite(fd, from, bytes, at) == (ssize_t)bytes, "move");
}

/* Of some blocks in a row, by a call that is given the file's name or a descriptor. */
static void write_blocks(int file, unsigned* seed) {
  static __thread uint64_t from[4 * kWords];
  pthread_rwlock_rdlock(&all->lock[file]);
  struct model* const model = &all->models[all->model_of[file]];
  const long count = 1 + rand_r(seed) % 3;
  const long block = rand_r(seed) % kBlocks;
  if (block + count > model->blocks) {
    pthread_rwlock_unlock(&all->lock[file]);
    return;
  }
  const int way = rand_r(seed) % 10, moves = rand_r(seed) % 5;
  const off_t at = block * kBlockBytes;
  const size_t bytes = (size_t)(count * kBlockBytes);
  /* Before a version is drawn, so that versions of a block are written in their order: one writer
   * a block at a time. */
  static _Atomic int* writing;
  if (writing == NULL) writing = (_Atomic int*)(all + 1);
  int none = 0;
  while (!atomic_compare_exchange_weak(&writing[file], &none, 1)) {
    none = 0;
    rest_us(20);
  }
  const uint64_t version = ++all->version;
  for (long i = 0; i < count; ++i) {
    fill(from + i * kWords, block + i, version);
    model->begun[block + i] = version;
  }
  if (way == 0) {
    FILE* const stream = fopen(paths[file], "r+");
    must(stream != NULL && fseek(stream, at, SEEK_SET) == 0, "fopen");
    if (moves == 0) {
      for (size_t i = 0; i < bytes; ++i) fputc(((const unsigned char*)from)[i], stream);
    } else if (moves == 1) {
      for (size_t i = 0; i < bytes; ++i) fprintf(stream, "%c", ((const unsigned char*)from)[i]);
    } else {
      must(fwrite(from, 1, bytes, stream) == bytes, "fwrite");
    }
    must(fclose(stream) == 0, "fclose");
  } else if (way == 7) {
    write_by_program(paths[file], 0, block, count, version);
  } else if (way == 8) {
    write_by_mapping(paths[file], from, bytes, at);
  } else {
    int fd = open(paths[file], way == 1 ? O_RDWR : O_WRONLY);
    must(fd >= 0, "open for writing");
    if (way == 2) {
      const int copy = dup(fd);
      close(fd);
      fd = copy;
    }
    rest_us(rand_r(seed) % 500);
    if (way == 3) {
      const pid_t child = fork();
      if (child == 0) _exit(pwrite(fd, from, bytes, at) == (ssize_t)bytes ? 0 : 1);
      int status = 0;
      close(fd);
      must(waitpid(child, &status, 0) == child && status == 0, "child");
    } else if (way == 4) {
      struct iovec parts[2] = {{from, 1000}, {(char*)from + 1000, bytes - 1000}};
      must(lseek(fd, at, SEEK_SET) == at && writev(fd, parts, 2) == (ssize_t)bytes, "writev");
      close(fd);
    } else if (way == 5 || way == 9) {
      move_to(fd, moves, paths[file], from, bytes, at);
      close(fd);
    } else {
      must(pwrite(fd, from, bytes, at) == (ssize_t)bytes, "pwrite");
      if (way == 6) fsync(fd);
      close(fd);
    }
  }
  for (long i = 0; i < count; ++i) model->written[block + i] = version;
  writing[file] = 0;
  pthread_rwlock_unlock(&all->lock[file]);
}

/* All of it anew, by name. */
static void write_whole(const char* path, int flags, struct model* model) {
  static __thread uint64_t from[kWords];
  const int fd = open(path, O_WRONLY | O_CREAT | flags, 0600);
  must(fd >= 0, "create");
  const uint64_t version = ++all->version;
  for (long i = 0; i < kBlocks; ++i) {
    fill(from, i, version);
    must(pwrite(fd, from, kBlockBytes, i * kBlockBytes) == kBlockBytes, "write whole");
    model->written[i] = model->begun[i] = version;
  }
  model->blocks = kBlocks;
  close(fd);
}

static void change_shape(int file, unsigned* seed) {
  pthread_rwlock_wrlock(&all->lock[file]);
  struct model* model = &all->models[all->model_of[file]];
  const int way = rand_r(seed) % 7;
  if (way == 5) {
    const long block = rand_r(seed) % model->blocks;
    const long count = rand_r(seed) % (model->blocks - block) + 1;
    const int fd = open(paths[file], O_WRONLY);
    const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    must(fd >= 0, "open to punch");
    if (fallocate(fd, mode, block * kBlockBytes, count * kBlockBytes) == 0) {
      for (long i = block; i < block + count; ++i) model->written[i] = model->begun[i] = 0;
    }
    close(fd);
  } else if (way == 6) {
    const uint64_t version = ++all->version;
    write_by_program(paths[file], O_TRUNC, 0, kBlocks, version);
    for (long i = 0; i < kBlocks; ++i) model->written[i] = model->begun[i] = version;
    model->blocks = kBlocks;
  } else if (way < 2) {
    const long blocks = kBlocks / 2 + rand_r(seed) % (kBlocks / 2);
    if (way == 0) must(truncate(paths[file], blocks * kBlockBytes) == 0, "truncate");
    if (way == 1) {
      const int fd = open(paths[file], O_RDWR);
      must(fd >= 0 && ftruncate(fd, blocks * kBlockBytes) == 0, "ftruncate");
      close(fd);
    }
    for (long i = blocks < model->blocks ? blocks : model->blocks; i < kBlocks; ++i) {
      model->written[i] = model->begun[i] = 0;
    }
    model->blocks = blocks;
  } else if (way == 2) {
    write_whole(paths[file], O_TRUNC, model);
  } else if (all->next_model < kModels) {
    const int next = all->next_model++;
    char name[600];
    snprintf(name, sizeof name, "%s.new", paths[file]);
    if (way == 3) {
      write_whole(name, O_EXCL, &all->models[next]);
      must(rename(name, paths[file]) == 0, "rename");
    } else {
      must(unlink(paths[file]) == 0, "unlink");
      write_whole(paths[file], O_EXCL, &all->models[next]);
    }
    all->model_of[file] = next;
  }
  pthread_rwlock_unlock(&all->lock[file]);
}

static void* writer(void* argument) {
  unsigned seed = (unsigned)(uintptr_t)argument;
  while (now_ns() < end_ns && all->wrong == 0) {
    const int file = rand_r(&seed) % kFiles;
    if (rand_r(&seed) % 8 == 0) {
      change_shape(file, &seed);
    } else {
      write_blocks(file, &seed);
    }
    rest_us(5000 + rand_r(&seed) % 60000);
  }
  return NULL;
}

static int run_process(unsigned seed) {
  pthread_t threads[kReaders + 1];
  for (unsigned i = 0; i <= kReaders; ++i) {
    void* const argument = (void*)(uintptr_t)(seed * 16 + i + 1);
    must(pthread_create(&threads[i], NULL, i == kReaders ? writer : reader, argument) == 0,
         "thread");
  }
  for (unsigned i = 0; i <= kReaders; ++i) pthread_join(threads[i], NULL);
  return all->wrong != 0;
}

int main(int count, char** words) {
  if (count == 5 && strcmp(words[1], "write") == 0) {
    return write_stdin(atol(words[2]), atol(words[3]), (uint64_t)atol(words[4]));
  }
  if (count != 4) return 2;
  all = mmap(NULL, sizeof *all + 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  must(all != MAP_FAILED, "mmap");
  pthread_rwlockattr_t attributes;
  pthread_rwlockattr_init(&attributes);
  pthread_rwlockattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  for (int file = 0; file < kFiles; ++file) {
    pthread_rwlock_init(&all->lock[file], &attributes);
    snprintf(paths[file], sizeof paths[file], "%s/shared%d", words[1], file);
    all->model_of[file] = all->next_model++;
    write_whole(paths[file], O_TRUNC, &all->models[all->model_of[file]]);
  }
  end_ns = now_ns() + atol(words[2]) * 1000000;
  const unsigned seed = (unsigned)atol(words[3]);
  for (unsigned i = 1; i < kProcesses; ++i) {
    if (fork() == 0) exit(run_process(seed + i * 1000));
  }
  int wrong = run_process(seed);
  for (int status = 0; wait(&status) > 0;) wrong |= status;
  printf("%ld\n", (long)all->reads);
  return wrong != 0;
}
