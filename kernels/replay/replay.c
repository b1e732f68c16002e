/* iotune-replay: reissues the HDF5 calls of a plan file (PLAN.md) and says how
 * long they took. `iotune replay --emit-c` writes a plan's lines and these
 * sources behind them into one file: a program that carries its plan. */
#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay_counts.h"
#include "replay_file.h"
#include "replay_program.h"

#ifndef CARRIED_PLAN
#define CARRIED_PLAN NULL
#endif
static const char* const* const carried_plan = CARRIED_PLAN;

/* Where a plan is read, and what is done beside it. */
struct choices {
  struct replay_options options;
  bool prepare, verify, overwrite;
};

static const char usage[] =
    "usage: mpirun -n RANKS iotune-replay [options] PLAN\n"
    "   or: mpirun -n RANKS PROGRAM_WITH_A_PLAN [options] [DIRECTORY]\n"
    "  --file-dir DIR  put every file into DIR; files there may be replaced\n"
    "  --repeat N      rounds, each from the same start\n"
    "  --prepare       write files first that are opened and do not exist\n"
    "  --verify        fill and compare by a formula; not for measuring\n"
    "  --overwrite     replace existing files in their own directories\n"
    "  --help          print this\n";

static void move_to(struct plan* plan, const char* dir) {
  for (size_t i = 0; i < plan->files; i++) {
    char* old = plan->file[i].path;
    const char* slash = strrchr(old, '/');
    const char* last = slash != NULL ? slash + 1 : old;
    size_t size = strlen(dir) + strlen(last) + 2;
    char* path = malloc(size);
    if (path == NULL) replay_fail(old, "out of memory");
    snprintf(path, size, "%s/%s", dir, last);
    free(old);
    plan->file[i].path = path;
  }
}

/* The first part that names this file decides how it comes into being. */
static bool first_of_its_name(const struct plan* plan, size_t part) {
  for (size_t i = 0; i < part; i++)
    if (strcmp(plan->file[i].path, plan->file[part].path) == 0) return false;
  return true;
}

static bool exists_anywhere(const char* path, int rank) {
  int exists = rank == 0 && access(path, F_OK) == 0;
  MPI_Bcast(&exists, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return exists != 0;
}

/* A plan names the files of a real run, which the replayer must not replace. A program that
 * carries its plan may be started beside them. */
static bool may_write(const struct plan* plan, const struct choices* choices, int rank) {
  bool carried = carried_plan != NULL;
  if (choices->overwrite || (choices->options.file_dir != NULL && !carried)) return true;
  for (size_t i = 0; i < plan->files; i++) {
    const struct plan_file* file = &plan->file[i];
    bool writes =
        carried ? first_of_its_name(plan, i) && file->create : file->create || file->writes;
    if (!writes || !exists_anywhere(file->path, rank)) continue;
    if (rank == 0)
      fprintf(stderr, "%s: %s exists: name another directory, or --overwrite to replace it\n",
              choices->options.program, file->path);
    return false;
  }
  return true;
}

/* It has another name until it is whole, so that no interrupted one is taken for it. */
static void prepare_files(const struct plan* plan, int rank, struct replay_buffer* buffer) {
  for (size_t i = 0; i < plan->files; i++) {
    const char* path = plan->file[i].path;
    if (plan->file[i].create || !first_of_its_name(plan, i) || exists_anywhere(path, rank))
      continue;
    char part[PATH_MAX];
    if (snprintf(part, sizeof part, "%s.preparing", path) >= (int)sizeof part)
      replay_fail(path, "the name is too long");
    replay_prepare(plan, i, part, buffer);
    if (rank == 0 && rename(part, path) != 0) replay_fail(path, strerror(errno));
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void remove_created(const struct plan* plan, int rank) {
  for (size_t i = 0; rank == 0 && i < plan->files; i++) {
    const struct plan_file* file = &plan->file[i];
    if (!file->create || !first_of_its_name(plan, i)) continue;
    if (unlink(file->path) != 0 && errno != ENOENT) replay_fail(file->path, strerror(errno));
  }
}

/* Seconds on the slowest rank; rank 0 knows them. */
struct times {
  double* round;         /* of each round, all its files together */
  double* file;          /* of each of the plan's parts from open to close, round by round */
  double *own, *slowest; /* of each part in the round that is on: this rank's, the slowest's */
  double* counts; /* of each part REPLAY_COUNTS, over all rounds: this rank's, then all ranks' */
};

static double one_round(const struct plan* plan, int rank, struct replay_buffer* buffer,
                        struct times* times, int round) {
  remove_created(plan, rank);
  MPI_Barrier(MPI_COMM_WORLD);
  double counted[REPLAY_COUNTS], now[REPLAY_COUNTS];
  replay_count(counted);
  double start = MPI_Wtime(), before = start;
  for (size_t i = 0; i < plan->files; i++) {
    replay_file(&plan->file[i], buffer);
    times->own[i] = MPI_Wtime() - before;
    before += times->own[i];
    replay_count(now);
    for (size_t k = 0; k < REPLAY_COUNTS; k++)
      times->counts[i * REPLAY_COUNTS + k] += now[k] - counted[k];
    memcpy(counted, now, sizeof now);
  }
  double own = before - start, slowest = own;
  MPI_Reduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(times->own, times->slowest, (int)plan->files, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  memcpy(times->file + (size_t)round * plan->files, times->slowest, plan->files * sizeof(double));
  uint64_t moved = buffer->moved;
  for (size_t i = 0; buffer->verify && i < plan->files; i++)
    if (plan->file[i].writes) replay_read_again(&plan->file[i], buffer);
  buffer->moved = moved; /* comparing is none of the plan's */
  return slowest;
}

static int by_size(const void* left, const void* right) {
  double a = *(const double*)left, b = *(const double*)right;
  return (a > b) - (a < b);
}

/* The median over the rounds, for one part: a single slow round says nothing about the file. */
static double median_of(const struct times* times, size_t files, size_t part, int rounds,
                        double* sorted) {
  for (int i = 0; i < rounds; i++) sorted[i] = times->file[(size_t)i * files + part];
  qsort(sorted, (size_t)rounds, sizeof *sorted, by_size);
  return (sorted[rounds / 2] + sorted[(rounds - 1) / 2]) / 2;
}

static void report(size_t files, uint64_t bytes, const struct times* times, int rounds) {
  double seconds = 0;
  for (int i = 0; i < rounds; i++) seconds += times->round[i];
  double rate = seconds > 0 ? (double)bytes / 1048576.0 / seconds : 0;
  printf("{\"bytes\": %llu, \"seconds\": %.6f, \"mib_per_s\": %.3f, \"files\": %zu",
         (unsigned long long)bytes, seconds, rate, files);
  replay_print_numbers("rounds", times->round, (size_t)rounds);
  /* Sorts in the memory of the rounds, which were printed before. */
  for (size_t i = 0; i < files; i++)
    times->slowest[i] = median_of(times, files, i, rounds, times->round);
  replay_print_numbers("file_seconds", times->slowest, files);
  static const char* const names[REPLAY_COUNTS] = {
      [REPLAY_PROCESSOR_SECONDS] = "file_processor_seconds",
      [REPLAY_SYSTEM_CALLS] = "file_system_calls",
      [REPLAY_MOVED_BYTES] = "file_moved_bytes",
  };
  for (size_t k = 0; k < REPLAY_COUNTS; k++) {
    for (size_t i = 0; i < files; i++)
      times->slowest[i] = times->counts[i * REPLAY_COUNTS + k] / rounds;
    replay_print_numbers(names[k], times->slowest, files);
  }
  printf("}\n");
}

static double* new_numbers(size_t count) {
  double* number = calloc(count > 0 ? count : 1, sizeof *number);
  if (number == NULL) replay_fail("the times", "out of memory");
  return number;
}

static void run_rounds(const struct plan* plan, const struct choices* choices, int rank) {
  struct replay_buffer buffer = {.verify = choices->verify};
  const int rounds = choices->options.repeat;
  uint64_t all = 0;
  if (choices->prepare) prepare_files(plan, rank, &buffer);
  for (size_t i = 0; i < plan->files; i++) replay_reserve(&buffer, replay_largest(&plan->file[i]));
  struct times times = {.round = new_numbers((size_t)rounds),
                        .file = new_numbers((size_t)rounds * plan->files),
                        .own = new_numbers(plan->files),
                        .slowest = new_numbers(plan->files),
                        .counts = new_numbers(plan->files * REPLAY_COUNTS)};
  double* all_counts = new_numbers(plan->files * REPLAY_COUNTS);
  buffer.moved = 0;
  for (int i = 0; i < rounds; i++) times.round[i] = one_round(plan, rank, &buffer, &times, i);
  MPI_Reduce(&buffer.moved, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(times.counts, all_counts, (int)(plan->files * REPLAY_COUNTS), MPI_DOUBLE, MPI_SUM, 0,
             MPI_COMM_WORLD);
  free(times.counts);
  times.counts = all_counts;
  if (rank == 0) report(plan->files, all, &times, rounds);
  free(times.round);
  free(times.file);
  free(times.own);
  free(times.slowest);
  free(times.counts);
  free(buffer.byte);
}

static int replay(struct plan_reader* reader, const struct choices* choices) {
  struct plan plan;
  const char* dir = choices->options.file_dir;
  bool right = plan_is_agreed(reader, plan_read(reader, &plan));
  if (right && dir != NULL) move_to(&plan, dir);
  right = right && may_write(&plan, choices, reader->rank);
  if (right) run_rounds(&plan, choices, reader->rank);
  plan_free(&plan);
  return right ? 0 : 1;
}

int main(int argc, char** argv) {
  struct choices choices = {.options = {.program = "iotune-replay", .usage = usage}};
  const struct replay_flag flags[] = {{"--prepare", &choices.prepare},
                                      {"--verify", &choices.verify},
                                      {"--overwrite", &choices.overwrite},
                                      {NULL, NULL}};
  struct plan_reader reader = {.carried = carried_plan};
  choices.options.flag = flags;
  choices.options.carries_plan = choices.prepare = carried_plan != NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &reader.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &reader.ranks);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  int status = replay_read_options(argc, argv, reader.rank, &choices.options);
  reader.path = carried_plan != NULL ? "the plan" : choices.options.plan;
  if (carried_plan != NULL && choices.options.file_dir == NULL) choices.options.file_dir = ".";
  if (status < 0) status = replay(&reader, &choices);
  MPI_Finalize();
  return status;
}
