/* iotune-replay: reissues the HDF5 calls of a plan file (PLAN.md) and says how
 * long they took. */
#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay_file.h"

struct options {
  const char* plan;
  const char* file_dir;
  int repeat;
  bool prepare, verify, overwrite, help;
};

static const char usage[] =
    "usage: mpirun -n RANKS iotune-replay [options] PLAN\n"
    "  --file-dir DIR  put every file into DIR; files there may be replaced\n"
    "  --repeat N      rounds, each from the same start\n"
    "  --prepare       write files first that are opened and do not exist\n"
    "  --verify        fill and compare by a formula; not for measuring\n"
    "  --overwrite     replace existing files in their own directories\n"
    "  --help          print this\n";

static bool refuse(char error[512], const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error, 512, format, arguments);
  va_end(arguments);
  return false;
}

static bool parse_repeat(const char* text, int* repeat) {
  char* end;
  errno = 0;
  long value = strtol(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || value < 1 || value > 1000000) return false;
  *repeat = (int)value;
  return true;
}

static bool parse(int argc, char** argv, struct options* options, char error[512]) {
  *options = (struct options){.repeat = 1};
  for (int i = 1; i < argc; i++) {
    const char* argument = argv[i];
    bool dir = strcmp(argument, "--file-dir") == 0, repeat = strcmp(argument, "--repeat") == 0;
    if (dir || repeat) {
      const char* value = argv[++i];
      if (value == NULL) return refuse(error, "%s: its value is missing", argument);
      if (dir) options->file_dir = value;
      if (repeat && !parse_repeat(value, &options->repeat))
        return refuse(error, "--repeat %s: not a possible value", value);
    } else if (strcmp(argument, "--prepare") == 0) {
      options->prepare = true;
    } else if (strcmp(argument, "--verify") == 0) {
      options->verify = true;
    } else if (strcmp(argument, "--overwrite") == 0) {
      options->overwrite = true;
    } else if (strcmp(argument, "--help") == 0) {
      options->help = true;
    } else if (argument[0] == '-' && argument[1] != '\0') {
      return refuse(error, "%s: there is no such option", argument);
    } else if (options->plan != NULL) {
      return refuse(error, "%s: one plan is enough", argument);
    } else {
      options->plan = argument;
    }
  }
  return options->help || options->plan != NULL || refuse(error, "PLAN is missing");
}

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

/* Ranks read different parts: the lowest rank among those with the earliest fault reports it. */
static bool read_plan(const struct options* options, int rank, int ranks, struct plan* plan) {
  struct plan_error error;
  bool right = plan_read(options->plan, rank, ranks, plan, &error);
  long own = right ? LONG_MAX : error.line, first;
  MPI_Allreduce(&own, &first, 1, MPI_LONG, MPI_MIN, MPI_COMM_WORLD);
  if (first == LONG_MAX) return true;
  int mine = own == first ? rank : INT_MAX, first_rank;
  MPI_Allreduce(&mine, &first_rank, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == first_rank && first > 0)
    fprintf(stderr, "%s:%ld: %s\n", options->plan, first, error.text);
  else if (rank == first_rank)
    fprintf(stderr, "%s: %s\n", options->plan, error.text);
  return false;
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

/* A plan names the files of a real run, which the replayer must not replace. */
static bool may_write(const struct plan* plan, const struct options* options, int rank) {
  if (options->file_dir != NULL || options->overwrite) return true;
  for (size_t i = 0; i < plan->files; i++) {
    const struct plan_file* file = &plan->file[i];
    if ((!file->create && !file->writes) || !exists_anywhere(file->path, rank)) continue;
    if (rank == 0)
      fprintf(stderr, "iotune-replay: %s exists: give --file-dir, or --overwrite to replace it\n",
              file->path);
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
};

static double one_round(const struct plan* plan, int rank, struct replay_buffer* buffer,
                        struct times* times, int round) {
  remove_created(plan, rank);
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime(), before = start;
  for (size_t i = 0; i < plan->files; i++) {
    replay_file(&plan->file[i], buffer);
    times->own[i] = MPI_Wtime() - before;
    before += times->own[i];
  }
  double own = before - start, slowest = own;
  MPI_Reduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(times->own, times->slowest, (int)plan->files, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  memcpy(times->file + (size_t)round * plan->files, times->slowest, plan->files * sizeof(double));
  for (size_t i = 0; buffer->verify && i < plan->files; i++)
    if (plan->file[i].writes) replay_read_again(&plan->file[i], buffer);
  return slowest;
}

static void print_numbers(const char* name, const double* number, size_t count) {
  printf(", \"%s\": [", name);
  for (size_t i = 0; i < count; i++) printf("%s%.6f", i > 0 ? ", " : "", number[i]);
  printf("]");
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
  print_numbers("rounds", times->round, (size_t)rounds);
  /* Sorts in the memory of the rounds, which were printed before. */
  for (size_t i = 0; i < files; i++)
    times->slowest[i] = median_of(times, files, i, rounds, times->round);
  print_numbers("file_seconds", times->slowest, files);
  printf("}\n");
}

static double* new_numbers(const struct options* options, size_t count) {
  double* number = calloc(count > 0 ? count : 1, sizeof *number);
  if (number == NULL) replay_fail(options->plan, "out of memory");
  return number;
}

static void run_rounds(const struct plan* plan, const struct options* options, int rank) {
  struct replay_buffer buffer = {.verify = options->verify};
  uint64_t moved = 0, all = 0;
  if (options->prepare) prepare_files(plan, rank, &buffer);
  for (size_t i = 0; i < plan->files; i++)
    replay_reserve(&buffer, replay_largest(&plan->file[i], &moved));
  struct times times = {.round = new_numbers(options, (size_t)options->repeat),
                        .file = new_numbers(options, (size_t)options->repeat * plan->files),
                        .own = new_numbers(options, plan->files),
                        .slowest = new_numbers(options, plan->files)};
  for (int i = 0; i < options->repeat; i++)
    times.round[i] = one_round(plan, rank, &buffer, &times, i);
  MPI_Reduce(&moved, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) report(plan->files, all * (uint64_t)options->repeat, &times, options->repeat);
  free(times.round);
  free(times.file);
  free(times.own);
  free(times.slowest);
  free(buffer.byte);
}

static int replay(const struct options* options, int rank, int ranks) {
  struct plan plan;
  bool right = read_plan(options, rank, ranks, &plan);
  if (right && options->file_dir != NULL) move_to(&plan, options->file_dir);
  right = right && may_write(&plan, options, rank);
  if (right) run_rounds(&plan, options, rank);
  plan_free(&plan);
  return right ? 0 : 1;
}

int main(int argc, char** argv) {
  struct options options;
  char error[512];
  int rank, ranks, status = 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  bool parsed = parse(argc, argv, &options, error);
  if (parsed && options.help) {
    if (rank == 0) fputs(usage, stdout);
    status = 0;
  } else if (parsed) {
    status = replay(&options, rank, ranks);
  } else if (rank == 0) {
    fprintf(stderr, "iotune-replay: %s\n%s", error, usage);
  }
  MPI_Finalize();
  return status;
}
