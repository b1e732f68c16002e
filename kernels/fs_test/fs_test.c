/* LANL's FS-TEST as the Pattern PLFS papers use it (He et al., SC Companion 2012 and HPDC 2013): N
 * ranks write equal records into one file (N-1, strided or segmented) or each into its own (N-N),
 * and the same number of ranks (uniform) or another one (non-uniform) reads them.
 *
 * Records have numbers in the order of the file, or of the files one behind the other. A phase is
 * open, transfers and close, with a barrier before each; the filling and the comparing of buffers
 * is not timed. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fs_test_content.h"
#include "fs_test_file.h"
#include "fs_test_options.h"

enum { BATCH_BYTES = 1 << 20 };

struct seconds {
  double open, transfer, sync, close;
  double whole; /* from before the open to behind the close */
};

struct run {
  struct fs_options options;
  int ranks, rank;
  unsigned char* buffer; /* a batch of records */
  int64_t batch;         /* records in it */
  struct fs_file* file;  /* files that are open, from the first on */
  int64_t first_file, files;
};

/* The records of one rank: `first`, then every `step`, `count` in all. */
struct share {
  int64_t first, step, count;
  int64_t calls; /* of the rank that has most, for collective calls */
};

struct wrong {
  int64_t record, file, offset; /* record is INT64_MAX: nothing */
  unsigned char found;
};

static int64_t file_bytes(const struct fs_options* options) {
  return options->record_bytes * options->records *
         (options->pattern == FS_N_N ? 1 : options->writers);
}

static struct share share_of(enum fs_pattern dealt, int64_t total, int ranks, int rank) {
  const int64_t floor = total / ranks, rest = total % ranks;
  struct share share = {.count = floor + (rank < rest), .calls = floor + (rest > 0)};
  if (dealt == FS_STRIDED) {
    share.first = rank;
    share.step = ranks;
  } else {
    share.first = rank * floor + (rank < rest ? rank : rest);
    share.step = 1;
  }
  return share;
}

static void name_file(const struct fs_options* options, int64_t number, char path[PATH_MAX]) {
  const int used = options->pattern == FS_N_N
                       ? snprintf(path, PATH_MAX, "%s.%05lld", options->output, (long long)number)
                       : snprintf(path, PATH_MAX, "%s", options->output);
  if (used >= PATH_MAX) fs_fail(options->output, "the name is too long");
}

static void open_files(struct run* run, const struct share* share, int64_t record_bytes,
                       bool write) {
  const struct fs_options* options = &run->options;
  const int64_t in_file = file_bytes(options) / record_bytes;
  run->first_file = share->count > 0 ? share->first / in_file : 0;
  run->files = share->count > 0 ? (share->first + (share->count - 1) * share->step) / in_file -
                                      run->first_file + 1
                                : 0;
  const bool shared = options->pattern != FS_N_N;
  if (shared) run->files = 1; /* MPI-IO: all ranks open it */
  run->file = calloc((size_t)run->files + 1, sizeof *run->file);
  if (run->file == NULL) fs_fail(options->output, "out of memory");
  for (int64_t i = 0; i < run->files; i++) {
    struct fs_file* file = &run->file[i];
    file->mpiio = options->mpiio;
    file->collective = options->collective && shared;
    name_file(options, run->first_file + i, file->path);
    fs_file_open(file, shared ? MPI_COMM_WORLD : MPI_COMM_SELF, write);
  }
}

static void check(const struct run* run, struct wrong* wrong, int64_t record, int64_t file,
                  int64_t offset, const unsigned char* bytes, int64_t size) {
  if (wrong->record != INT64_MAX) return;
  const int64_t at = fs_content_check(fs_content_key(run->options.seed, file), offset, bytes, size);
  if (at < 0) return;
  *wrong = (struct wrong){record, file, offset + at, bytes[at]};
}

/* Moves the records of the share, a batch at a time. Returns the seconds in calls. */
static double transfer(struct run* run, const struct share* share, int64_t record_bytes, bool write,
                       struct wrong* wrong) {
  const int64_t in_file = file_bytes(&run->options) / record_bytes;
  double seconds = 0;
  for (int64_t from = 0; from < share->calls; from += run->batch) {
    const int64_t end = from + run->batch < share->calls ? from + run->batch : share->calls;
    const int64_t own_end = end < share->count ? end : share->count;
    unsigned char* bytes = run->buffer;
    for (int64_t k = from; write && k < own_end; k++, bytes += record_bytes) {
      const int64_t record = share->first + k * share->step;
      fs_content_fill(fs_content_key(run->options.seed, record / in_file),
                      record % in_file * record_bytes, bytes, record_bytes);
    }
    const double begun = MPI_Wtime();
    bytes = run->buffer;
    int64_t k = from;
    for (; k < own_end; k++, bytes += record_bytes) {
      const int64_t record = share->first + k * share->step;
      struct fs_file* file = &run->file[record / in_file - run->first_file];
      const int64_t offset = record % in_file * record_bytes;
      if (write)
        fs_file_write(file, offset, bytes, record_bytes);
      else
        fs_file_read(file, offset, bytes, record_bytes);
    }
    for (; run->files > 0 && run->file[0].collective && k < end; k++) {
      if (write)
        fs_file_write(&run->file[0], 0, run->buffer, 0);
      else
        fs_file_read(&run->file[0], 0, run->buffer, 0);
    }
    seconds += MPI_Wtime() - begun;
    bytes = run->buffer;
    for (k = from; wrong != NULL && k < own_end; k++, bytes += record_bytes) {
      const int64_t record = share->first + k * share->step;
      check(run, wrong, record, record / in_file, record % in_file * record_bytes, bytes,
            record_bytes);
    }
  }
  return seconds;
}

static double clock_after_barrier(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Wtime();
}

/* `wrong` is NULL where nothing is compared. Seconds are those of the slowest rank, on rank 0. */
static struct seconds phase(struct run* run, const struct share* share, int64_t record_bytes,
                            bool write, struct wrong* wrong) {
  struct seconds own = {0, 0, 0, 0, 0}, slowest = own;
  double begun = clock_after_barrier();
  open_files(run, share, record_bytes, write);
  own.open = MPI_Wtime() - begun;
  MPI_Barrier(MPI_COMM_WORLD);
  own.transfer = transfer(run, share, record_bytes, write, wrong);
  begun = clock_after_barrier();
  for (int64_t i = 0; write && run->options.sync && i < run->files; i++)
    fs_file_sync(&run->file[i]);
  if (write && run->options.sync) {
    own.sync = MPI_Wtime() - begun;
    begun = clock_after_barrier();
  }
  for (int64_t i = 0; i < run->files; i++) fs_file_close(&run->file[i]);
  own.close = MPI_Wtime() - begun;
  free(run->file);
  own.whole = own.open + own.transfer + own.sync + own.close;
  MPI_Reduce(&own, &slowest, 5, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return slowest;
}

/* The rank with the first wrong record of all ranks reports it. */
static bool agree_right(const struct run* run, const struct wrong* wrong) {
  int64_t own = wrong->record, first;
  MPI_Allreduce(&own, &first, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
  if (first == INT64_MAX) return true;
  if (own == first) {
    char path[PATH_MAX];
    name_file(&run->options, wrong->file, path);
    fprintf(stderr, "fs-test: rank %d: %s: byte %lld is 0x%02x and should be 0x%02x\n", run->rank,
            path, (long long)wrong->offset, wrong->found,
            fs_content_byte(fs_content_key(run->options.seed, wrong->file), wrong->offset));
  }
  return false;
}

static void remove_old(const struct run* run) {
  const struct fs_options* options = &run->options;
  if (options->over || (options->pattern != FS_N_N && run->rank > 0)) return;
  char path[PATH_MAX];
  name_file(options, options->pattern == FS_N_N ? run->rank : 0, path);
  unlink(path);
}

static void print_phase(const struct run* run, const char* name, const struct seconds* seconds,
                        int64_t bytes) {
  const double rate = seconds->whole > 0 ? (double)bytes / 1048576.0 / seconds->whole : 0;
  if (run->options.json) {
    printf(
        ", \"%s\": {\"open_s\": %.6f, \"transfer_s\": %.6f, \"sync_s\": %.6f, "
        "\"close_s\": %.6f, \"seconds\": %.6f, \"mib_per_s\": %.3f}",
        name, seconds->open, seconds->transfer, seconds->sync, seconds->close, seconds->whole,
        rate);
    return;
  }
  printf(
      "%s open     %.6f s\n%s transfer %.6f s\n%s sync     %.6f s\n%s close    %.6f s\n"
      "%s all      %.6f s, %.3f MiB/s\n",
      name, seconds->open, name, seconds->transfer, name, seconds->sync, name, seconds->close, name,
      seconds->whole, rate);
}

static void report(const struct run* run, const struct seconds* write, const struct seconds* read,
                   int64_t bytes) {
  const struct fs_options* options = &run->options;
  const char* interface = !options->mpiio       ? "posix"
                          : options->collective ? "mpi-io collective"
                                                : "mpi-io";
  const char* text =
      options->json
          ? "{\"kernel\": \"fs-test\", \"pattern\": \"%s\", \"interface\": \"%s\", \"ranks\": %d, "
            "\"writers\": %d, \"record\": %lld, \"records\": %lld, \"bytes\": %lld, "
            "\"read_as\": \"%s\", \"verified\": %s"
          : "fs-test: %s, %s, %d ranks, %d wrote, records of %lld bytes, %lld a rank, "
            "%lld bytes, read %s, verified: %s\n";
  printf(text, fs_pattern_name(options->pattern), interface, run->ranks, options->writers,
         (long long)options->record_bytes, (long long)options->records, (long long)bytes,
         fs_pattern_name(options->read_as), options->verify ? "true" : "false");
  if (options->write) print_phase(run, "write", write, bytes);
  if (options->read) print_phase(run, "read", read, bytes);
  if (options->json) printf("}\n");
}

static int run_test(struct run* run) {
  const struct fs_options* options = &run->options;
  const int64_t total = options->records * options->writers;
  const int64_t bytes = total * options->record_bytes;
  const int64_t largest = options->record_bytes > options->read_record_bytes
                              ? options->record_bytes
                              : options->read_record_bytes;
  run->batch = largest < BATCH_BYTES ? BATCH_BYTES / largest : 1;
  run->buffer = calloc((size_t)(run->batch * largest), 1);
  if (run->buffer == NULL) fs_fail(options->output, "out of memory, choose a smaller --record");
  struct seconds write = {0, 0, 0, 0, 0}, read = write;
  struct wrong wrong = {.record = INT64_MAX};
  if (options->write) {
    const struct share share = share_of(options->pattern == FS_STRIDED ? FS_STRIDED : FS_SEGMENTED,
                                        total, run->ranks, run->rank);
    remove_old(run);
    write = phase(run, &share, options->record_bytes, true, NULL);
  }
  const int64_t reads = bytes / options->read_record_bytes;
  if (options->read) {
    const int reader = (int)((run->rank + (int64_t)options->shuffle) % run->ranks);
    const struct share share = share_of(options->read_as, reads, run->ranks, reader);
    read = phase(run, &share, options->read_record_bytes, false, options->verify ? &wrong : NULL);
  } else if (options->verify) {
    /* Another rank's records, so that what is wrong in the same way in both is noticed. */
    const struct share share =
        share_of(FS_SEGMENTED, reads, run->ranks, (run->rank + 1) % run->ranks);
    phase(run, &share, options->read_record_bytes, false, &wrong);
  }
  free(run->buffer);
  if (options->verify && !agree_right(run, &wrong)) return 1;
  if (run->rank == 0) report(run, &write, &read, bytes);
  return 0;
}

int main(int argc, char** argv) {
  static struct run run;
  char error[512];
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &run.ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
  int status = 2;
  const bool parsed = fs_options_parse(argc, argv, run.ranks, &run.options, error, sizeof error);
  if (parsed && run.options.help) {
    if (run.rank == 0) fs_options_help(stdout);
    status = 0;
  } else if (parsed) {
    status = run_test(&run);
  } else if (run.rank == 0) {
    fprintf(stderr, "fs-test: %s\n", error);
  }
  MPI_Finalize();
  return status;
}
