/* Reads shared files by a pattern while others change them, and compares with a model.
 *
 *   cache_torture DIRECTORY MILLISECONDS SEED
 *
 * Three processes of two readers and one writer each. A block's words hold its number and version.
 * Of each block the model knows the version that was written last, and the one that is being
 * written: whatever a read returns lies in between, and its length is what the size says. Sizes and
 * names change while nobody reads. Descriptors stay open over all of that: the model is the
 * inode's. On stdout: reads. Exit status 1: something was stale, or wrong; stderr says what. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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
      if (rand_r(&seed) % 2 == 0) {
        const int copy = dup(fd);
        close(fd);
        fd = copy;
      } else if (rand_r(&seed) % 2 == 0) {
        fsync(fd);
      }
    }
    close(fd);
  }
  return NULL;
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
  const int way = rand_r(seed) % 7;
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
    must(stream != NULL && fseek(stream, at, SEEK_SET) == 0 &&
             fwrite(from, 1, bytes, stream) == bytes,
         "fwrite");
    must(fclose(stream) == 0, "fclose");
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
    } else if (way == 5) {
      char name[600];
      snprintf(name, sizeof name, "%s.%lx", paths[file], (long)pthread_self());
      const int source = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
      must(source >= 0 && write(source, from, bytes) == (ssize_t)bytes, "source");
      off_t in = 0, out = at;
      const ssize_t copied = copy_file_range(source, &in, fd, &out, bytes, 0);
      if (copied != (ssize_t)bytes) must(pwrite(fd, from, bytes, at) == (ssize_t)bytes, "copy");
      close(source);
      unlink(name);
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
  const int way = rand_r(seed) % 5;
  if (way < 2) {
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
