/* Samples the response time of storage: one request at a time on each rank, of many sizes, by
 * MPI-IO and by POSIX, from storage and from caches. Dong, Byna and Wu, "Heavy-tailed Distribution
 * of Parallel I/O System Response Time", PDSW'15, section 2.2. Usage:
 *
 *   iotune-latency-sample DIR ROUNDS SECONDS SHARE CACHE INTERFACE EVICT_MIB SIZE…
 *
 * DIR has a file SIZE-RANK.dat of each size for each rank; what is missing or short is filled
 * first. A round is every size once, read and written, on all ranks at the same moment. ROUNDS 0:
 * until SECONDS are over; SECONDS 0: no limit. SHARE: of its time a rank transfers no more than
 * this fraction. CACHE: cold, warm or both; INTERFACE: mpiio, posix or both. EVICT_MIB: before each
 * cold read rank 0 of a node also writes and reads so much, to push data out of servers' caches; 0:
 * not.
 *
 * Prints a line per sample: UNIX_NS SECONDS BYTES OPERATION CACHE INTERFACE RANK ROUND HOST. A line
 * is out before the next round begins. */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "run_failure.h"

enum { MOST_SIZES = 64, PATH_BYTES = 4096, HOST_BYTES = 64 };

struct sampler {
  const char* directory;
  int rank, ranks;
  long rounds;
  double seconds, share;
  int cold, warm, mpiio, posix;
  long evict_mib;
  int size_count;
  long long sizes[MOST_SIZES];
  char* buffer;
  char host[HOST_BYTES];
  double busy; /* seconds of transfers whose pause is still due */
};

struct sample {
  long long unix_ns, bytes;
  double seconds;
  int is_write, is_cold, is_mpiio, rank;
  char host[HOST_BYTES];
};

static const char program[] = "iotune-latency-sample";

static _Noreturn void fail(const char* path, const char* reason) {
  run_fail(program, path, reason);
}

static void need(int code, const char* path) {
  run_need(program, code, path, "MPI-IO failed");
}

static void path_of(const struct sampler* sampler, long long bytes, char* path) {
  snprintf(path, PATH_BYTES, "%s/%lld-%d.dat", sampler->directory, bytes, sampler->rank);
}

static void write_whole(int fd, const char* path, const char* from, long long bytes) {
  for (long long at = 0; at < bytes;) {
    ssize_t n = pwrite(fd, from + at, (size_t)(bytes - at), (off_t)at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail(path, n < 0 ? strerror(errno) : "nothing can be written");
    at += n;
  }
}

static void read_whole(int fd, const char* path, char* to, long long bytes) {
  for (long long at = 0; at < bytes;) {
    ssize_t n = pread(fd, to + at, (size_t)(bytes - at), (off_t)at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail(path, n < 0 ? strerror(errno) : "it became shorter meanwhile");
    at += n;
  }
}

static void forget(const char* path) {
  int fd = open(path, O_RDONLY);
  if (fd < 0) fail(path, strerror(errno));
  /* Only pages that are on storage can be dropped. */
  if (fsync(fd) != 0) fail(path, strerror(errno));
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  close(fd);
}

static void fill_missing(const struct sampler* sampler) {
  char path[PATH_BYTES];
  for (int i = 0; i < sampler->size_count; i++) {
    path_of(sampler, sampler->sizes[i], path);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0) fail(path, strerror(errno));
    if (status.st_size < sampler->sizes[i]) {
      write_whole(fd, path, sampler->buffer, sampler->sizes[i]);
      if (fsync(fd) != 0) fail(path, strerror(errno));
    }
    close(fd);
  }
}

/* Pushes older data out of caches that no call of a client can empty. */
static void push_out(const struct sampler* sampler, int is_first_of_node) {
  if (sampler->evict_mib == 0 || !is_first_of_node) return;
  char path[PATH_BYTES];
  const long long step = 1 << 20;
  snprintf(path, sizeof path, "%s/evict-%d.dat", sampler->directory, sampler->rank);
  char* block = calloc(1, (size_t)step);
  int fd = open(path, O_RDWR | O_CREAT, 0600);
  if (fd < 0 || block == NULL) fail(path, strerror(errno));
  for (int pass = 0; pass < 2; pass++)
    for (long i = 0; i < sampler->evict_mib; i++) {
      ssize_t n = pass == 0 ? pwrite(fd, block, (size_t)step, (off_t)(i * step))
                            : pread(fd, block, (size_t)step, (off_t)(i * step));
      if (n < 0) fail(path, strerror(errno));
    }
  close(fd);
  free(block);
}

static double request_posix(const struct sampler* sampler, const char* path, long long bytes,
                            int is_write, int is_cold) {
  int fd = open(path, O_RDWR);
  if (fd < 0) fail(path, strerror(errno));
  double begin = MPI_Wtime();
  if (is_write) {
    write_whole(fd, path, sampler->buffer, bytes);
    if (is_cold && fsync(fd) != 0) fail(path, strerror(errno));
  } else {
    read_whole(fd, path, sampler->buffer, bytes);
  }
  double took = MPI_Wtime() - begin;
  close(fd);
  return took;
}

static double request_mpiio(const struct sampler* sampler, const char* path, long long bytes,
                            int is_write, int is_cold) {
  MPI_File file;
  MPI_Status status;
  need(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file), path);
  double begin = MPI_Wtime();
  if (is_write) {
    need(MPI_File_write_at(file, 0, sampler->buffer, (int)bytes, MPI_BYTE, &status), path);
    if (is_cold) need(MPI_File_sync(file), path);
  } else {
    need(MPI_File_read_at(file, 0, sampler->buffer, (int)bytes, MPI_BYTE, &status), path);
  }
  double took = MPI_Wtime() - begin;
  int moved = 0;
  MPI_Get_count(&status, MPI_BYTE, &moved);
  if (moved != bytes) fail(path, "fewer bytes were moved than asked for");
  need(MPI_File_close(&file), path);
  return took;
}

static struct sample request(struct sampler* sampler, long long bytes, int is_write, int is_cold,
                             int is_mpiio, int is_first_of_node) {
  char path[PATH_BYTES];
  path_of(sampler, bytes, path);
  if (is_cold) {
    forget(path);
    if (!is_write) push_out(sampler, is_first_of_node);
  } else if (!is_write) {
    /* Read once before, so that it is in every cache on the way. */
    request_posix(sampler, path, bytes, 0, 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  struct sample sample = {.unix_ns = (long long)now.tv_sec * 1000000000 + now.tv_nsec,
                          .bytes = bytes,
                          .is_write = is_write,
                          .is_cold = is_cold,
                          .is_mpiio = is_mpiio,
                          .rank = sampler->rank};
  memcpy(sample.host, sampler->host, HOST_BYTES);
  sample.seconds = is_mpiio ? request_mpiio(sampler, path, bytes, is_write, is_cold)
                            : request_posix(sampler, path, bytes, is_write, is_cold);
  sampler->busy += sample.seconds;
  return sample;
}

static void print(const struct sampler* sampler, const struct sample* own, long round) {
  struct sample* all = NULL;
  if (sampler->rank == 0) all = malloc(sizeof *all * (size_t)sampler->ranks);
  if (sampler->rank == 0 && all == NULL) fail(sampler->directory, "no memory");
  MPI_Gather(own, (int)sizeof *own, MPI_BYTE, all, (int)sizeof *own, MPI_BYTE, 0, MPI_COMM_WORLD);
  for (int i = 0; i < sampler->ranks && all != NULL; i++)
    printf("%lld %.9f %lld %s %s %s %d %ld %s\n", all[i].unix_ns, all[i].seconds, all[i].bytes,
           all[i].is_write ? "write" : "read", all[i].is_cold ? "cold" : "warm",
           all[i].is_mpiio ? "mpiio" : "posix", all[i].rank, round, all[i].host);
  free(all);
}

/* Pauses until the transfers of the slowest rank take no more than their share of the time. */
static void pause_for_share(struct sampler* sampler) {
  double busiest = 0;
  MPI_Allreduce(&sampler->busy, &busiest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  sampler->busy = 0;
  double idle = busiest * (1 / sampler->share - 1);
  struct timespec left = {.tv_sec = (time_t)idle,
                          .tv_nsec = (long)((idle - (double)(time_t)idle) * 1e9)};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

static void sample_round(struct sampler* sampler, long round, int is_first_of_node) {
  for (int i = 0; i < sampler->size_count; i++)
    for (int is_cold = 0; is_cold < 2; is_cold++)
      for (int is_mpiio = 0; is_mpiio < 2; is_mpiio++)
        for (int is_write = 0; is_write < 2; is_write++) {
          if (!(is_cold ? sampler->cold : sampler->warm)) continue;
          if (!(is_mpiio ? sampler->mpiio : sampler->posix)) continue;
          struct sample sample =
              request(sampler, sampler->sizes[i], is_write, is_cold, is_mpiio, is_first_of_node);
          print(sampler, &sample, round);
          pause_for_share(sampler);
        }
  if (sampler->rank == 0 && fflush(stdout) != 0) fail("stdout", strerror(errno));
}

static int is_one_of(const char* text, const char* name) {
  return strcmp(text, name) == 0 || strcmp(text, "both") == 0;
}

static void read_arguments(struct sampler* sampler, int argc, char** argv) {
  if (argc < 9 || argc - 8 > MOST_SIZES)
    fail("usage", "DIR ROUNDS SECONDS SHARE CACHE INTERFACE EVICT_MIB SIZE…");
  sampler->directory = argv[1];
  sampler->rounds = atol(argv[2]);
  sampler->seconds = atof(argv[3]);
  sampler->share = atof(argv[4]);
  sampler->cold = is_one_of(argv[5], "cold");
  sampler->warm = is_one_of(argv[5], "warm");
  sampler->mpiio = is_one_of(argv[6], "mpiio");
  sampler->posix = is_one_of(argv[6], "posix");
  sampler->evict_mib = atol(argv[7]);
  long long largest = 0;
  for (int i = 8; i < argc; i++) {
    long long bytes = atoll(argv[i]);
    if (bytes <= 0 || bytes > 1 << 30) fail(argv[i], "a size is 1 byte to 1 GiB");
    sampler->sizes[sampler->size_count++] = bytes;
    if (bytes > largest) largest = bytes;
  }
  if (sampler->share <= 0 || sampler->share > 1) fail(argv[4], "a share is above 0 and at most 1");
  if (sampler->rounds <= 0 && sampler->seconds <= 0) fail(argv[2], "neither rounds nor seconds");
  if (!(sampler->cold || sampler->warm)) fail(argv[5], "the cache is cold, warm or both");
  if (!(sampler->mpiio || sampler->posix)) fail(argv[6], "the interface is mpiio, posix or both");
  sampler->buffer = malloc((size_t)largest);
  if (sampler->buffer == NULL) fail(argv[argc - 1], "no memory for a request of this size");
  /* Storage must not be able to compress the bytes away. */
  unsigned long long state = (unsigned long long)sampler->rank + 1;
  for (long long i = 0; i < largest; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    sampler->buffer[i] = (char)(state >> 56);
  }
}

int main(int argc, char** argv) {
  static struct sampler sampler;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &sampler.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &sampler.ranks);
  read_arguments(&sampler, argc, argv);
  gethostname(sampler.host, sizeof sampler.host - 1);
  MPI_Comm node;
  int rank_of_node = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, sampler.rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &rank_of_node);
  fill_missing(&sampler);
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime();
  for (long round = 0; sampler.rounds <= 0 || round < sampler.rounds; round++) {
    int goes_on = sampler.seconds <= 0 || MPI_Wtime() - begin < sampler.seconds;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!goes_on) break;
    sample_round(&sampler, round, rank_of_node == 0);
  }
  MPI_Comm_free(&node);
  free(sampler.buffer);
  MPI_Finalize();
  return 0;
}
