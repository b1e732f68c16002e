#include "kernel_run.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kernel_io.h"

struct run {
  const struct kernel_spec* spec;
  struct kernel_options options;
  struct kernel_transfer transfer;
  struct kernel_dims grid, size, block;
  struct kernel_axis axis[KERNEL_MAX_DIMS];
  int ranks, rank, datasets;
  void* buffer;   /* this rank's largest share */
  double untimed; /* seconds of filling and checking within the step */
  uint64_t bytes; /* of all ranks */
  double seconds; /* on rank 0: the slowest rank's, step by step */
};

/* The first wrong element that this rank saw in a step. */
struct wrong {
  int64_t order; /* of its dataset within the step, INT64_MAX: nothing wrong */
  uint64_t index, found;
  struct kernel_dataset dataset;
  char path[PATH_MAX];
};

struct kernel_dataset* kernel_file_add(struct kernel_file* file, const char* path) {
  struct kernel_dataset* more =
      realloc(file->dataset, (size_t)(file->count + 1) * sizeof *file->dataset);
  if (more == NULL) kernel_fail(file->path, "out of memory");
  file->dataset = more;
  struct kernel_dataset* dataset = &more[file->count++];
  memset(dataset, 0, sizeof *dataset);
  snprintf(dataset->path, sizeof dataset->path, "%s", path);
  return dataset;
}

static bool refuse(char* error, size_t size, const char* option, const struct kernel_dims* dims,
                   const char* why) {
  char text[96];
  kernel_dims_print(dims, text, sizeof text);
  snprintf(error, size, "%s %s: %s", option, text, why);
  return false;
}

static bool choose_grid(struct run* run, char* error, size_t size) {
  const struct kernel_spec* spec = run->spec;
  const struct kernel_dims* given = &run->options.grid;
  int n = run->size.n;
  if (given->n == 0) {
    run->grid = spec->grid_axis == KERNEL_GRID_BALANCED
                    ? kernel_grid_balanced(run->ranks, n)
                    : kernel_grid_along(run->ranks, n, spec->grid_axis);
    return true;
  }
  run->grid = *given;
  if (given->n != n) return refuse(error, size, "--grid", given, "not one part per dimension");
  hsize_t product = 1;
  for (int i = 0; i < n; i++) {
    if (given->d[i] > (hsize_t)run->ranks)
      return refuse(error, size, "--grid", given, "more processes than ranks");
    product *= given->d[i];
    if (spec->grid_fixed && i != spec->grid_axis && given->d[i] > 1)
      return refuse(error, size, "--grid", given, "this kernel divides one dimension only");
  }
  if (product != (hsize_t)run->ranks)
    return refuse(error, size, "--grid", given, "its product is not the number of ranks");
  return true;
}

/* Whether no offset in bytes can overflow; one more per dimension for FLASH-IO's corners. */
static bool fits(const struct run* run) {
  double bytes = 8.0 * (double)run->ranks;
  for (int i = 0; i < run->size.n; i++) bytes *= (double)run->size.d[i] + 1;
  return bytes < 4e18;
}

static bool resolve(struct run* run, char* error, size_t size) {
  const struct kernel_spec* spec = run->spec;
  const struct kernel_options* options = &run->options;
  bool whole = spec->extent.n > 0 && options->size.n == 0;
  run->size = options->size.n > 0 ? options->size : whole ? spec->extent : spec->size;
  if (!spec->any_dims && run->size.n != spec->size.n)
    return refuse(error, size, "--size", &options->size, "wrong number of dimensions");
  if (!fits(run)) return refuse(error, size, "--size", &run->size, "too large");
  if (!choose_grid(run, error, size)) return false;
  run->block = options->block;
  if (run->block.n == 0) {
    run->block.n = run->size.n;
    for (int i = 0; i < run->size.n; i++) run->block.d[i] = spec->run > 0 ? spec->run : 1;
  }
  if (run->block.n != run->size.n)
    return refuse(error, size, "--block", &options->block, "not one length per dimension");
  hsize_t place[KERNEL_MAX_DIMS];
  kernel_grid_place(&run->grid, run->rank, place);
  for (int i = 0; i < run->size.n; i++) {
    run->axis[i] = whole ? kernel_axis_of_extent(run->size.d[i], run->grid.d[i], place[i])
                         : kernel_axis_of_size(spec->kind, run->size.d[i], run->block.d[i],
                                               run->grid.d[i], place[i], options->uneven);
    if (run->block.d[i] > run->size.d[i] && options->block.n > 0)
      return refuse(error, size, "--block", &options->block, "larger than --size");
  }
  if (options->chunk.n > 0 && options->chunk.n != run->size.n)
    return refuse(error, size, "--chunk", &options->chunk, "wrong number of dimensions");
  for (int i = 0; i < options->chunk.n; i++)
    if (options->chunk.d[i] > run->axis[i].extent)
      return refuse(error, size, "--chunk", &options->chunk, "larger than the dataset");
  if (options->rows > 0 && run->axis[0].kind != KERNEL_BLOCK)
    return refuse(error, size, "--rows with --size", &run->size, "its rows are dealt one by one");
  run->transfer = (struct kernel_transfer){options->collective, options->chunk, options->deflate,
                                           (hsize_t)options->rows};
  run->datasets = options->datasets > 0 ? options->datasets : spec->datasets;
  return true;
}

/* dir/name.h5 -> dir/name<suffix><step>.h5 */
static void name_file(const struct run* run, int step, int number, struct kernel_file* file) {
  const struct kernel_spec* spec = run->spec;
  char base[PATH_MAX], digits[16] = "";
  if (run->options.output != NULL)
    snprintf(base, sizeof base, "%s", run->options.output);
  else if (spec->output != NULL)
    snprintf(base, sizeof base, "%s", spec->output);
  else
    snprintf(base, sizeof base, "%s.h5", spec->name);
  const char* slash = strrchr(base, '/');
  const char* dot = strrchr(slash != NULL ? slash : base, '.');
  size_t stem = dot != NULL ? (size_t)(dot - base) : strlen(base);
  if (run->options.numbered) snprintf(digits, sizeof digits, "%05d", step);
  int used = snprintf(file->path, sizeof file->path, "%.*s%s%s%s", (int)stem, base,
                      spec->suffix != NULL ? spec->suffix[number] : "", digits, base + stem);
  if (used >= (int)sizeof file->path) kernel_fail(base, "the name is too long");
}

static struct kernel_file lay_out(const struct run* run, int step, int number) {
  struct kernel_file file = {.count = 0};
  name_file(run, step, number, &file);
  const struct kernel_spec* spec = run->spec;
  if (spec->lay_out != NULL) {
    spec->lay_out(&run->size, run->axis, run->datasets, number, &file);
  } else {
    for (int i = 0; i < run->datasets; i++) {
      char path[64];
      spec->name_dataset(path, sizeof path, i, step);
      struct kernel_dataset* dataset = kernel_file_add(&file, path);
      dataset->element = spec->element;
      dataset->ndims = run->size.n;
      dataset->payload = true;
      memcpy(dataset->axis, run->axis, sizeof run->axis);
    }
  }
  for (int i = 0; i < file.count; i++) file.dataset[i].key = kernel_dataset_key(number, i, step);
  return file;
}

/* Another share than the one written, for reading again: the next rank's, in a division
 * along one axis. So a selection that is wrong in the same way in write and read is noticed. */
static struct kernel_dataset other_share(const struct run* run, const struct kernel_dataset* from) {
  struct kernel_dataset share = *from;
  int divided = 0;
  share.first_rank = false;
  if (from->axis[0].extent < (hsize_t)run->ranks)
    for (int i = 1; i < from->ndims; i++)
      if (from->axis[i].extent > from->axis[divided].extent) divided = i;
  for (int i = 0; i < from->ndims; i++)
    share.axis[i] = i == divided ? kernel_axis_of_extent(from->axis[i].extent, (hsize_t)run->ranks,
                                                         (hsize_t)((run->rank + 1) % run->ranks))
                                 : kernel_axis_of_extent(from->axis[i].extent, 1, 0);
  return share;
}

static void reserve(struct run* run) {
  size_t most = 1;
  for (int number = 0; number < run->spec->files; number++) {
    struct kernel_file file = lay_out(run, 0, number);
    for (int i = 0; i < file.count; i++) {
      const struct kernel_dataset* dataset = &file.dataset[i];
      struct kernel_dataset other = other_share(run, dataset);
      hsize_t count = kernel_dataset_count(dataset), again = kernel_dataset_count(&other);
      size_t bytes = (count > again ? count : again) * kernel_element_bytes(dataset->element);
      if (bytes > most) most = bytes;
    }
    free(file.dataset);
  }
  run->buffer = malloc(most);
  if (run->buffer == NULL) kernel_fail(run->spec->name, "out of memory, choose a smaller --size");
  memset(run->buffer, 0, most); /* the first touch of a page is not I/O time */
}

static void check(struct run* run, const struct kernel_file* file,
                  const struct kernel_dataset* dataset, int64_t order, struct wrong* wrong) {
  if (wrong->order != INT64_MAX) return;
  wrong->index = kernel_dataset_check(dataset, run->buffer, &wrong->found);
  if (wrong->index == UINT64_MAX) return;
  wrong->order = order;
  wrong->dataset = *dataset;
  memcpy(wrong->path, file->path, sizeof wrong->path);
}

static void write_file(struct run* run, const struct kernel_file* file) {
  hid_t handle = kernel_file_create(file->path);
  for (int i = 0; i < file->count; i++) {
    const struct kernel_dataset* dataset = &file->dataset[i];
    double start = MPI_Wtime();
    kernel_dataset_fill(dataset, run->buffer);
    run->untimed += MPI_Wtime() - start;
    kernel_dataset_write(handle, file->path, dataset, &run->transfer, run->buffer);
  }
  kernel_file_close(handle, file->path);
}

static void read_file(struct run* run, const struct kernel_file* file, int64_t order,
                      struct wrong* wrong) {
  hid_t handle = kernel_file_open(file->path);
  for (int i = 0; i < file->count; i++) {
    const struct kernel_dataset* dataset = &file->dataset[i];
    kernel_dataset_read(handle, file->path, dataset, &run->transfer, run->buffer);
    double start = MPI_Wtime();
    if (run->options.verify && (!dataset->first_rank || run->rank == 0))
      check(run, file, dataset, order + i, wrong);
    run->untimed += MPI_Wtime() - start;
  }
  kernel_file_close(handle, file->path);
}

static void read_again(struct run* run, const struct kernel_file* file, int64_t order,
                       struct wrong* wrong) {
  static const struct kernel_transfer independent = {.deflate = -1};
  hid_t handle = kernel_file_open(file->path);
  for (int i = 0; i < file->count; i++) {
    struct kernel_dataset share = other_share(run, &file->dataset[i]);
    kernel_dataset_read(handle, file->path, &share, &independent, run->buffer);
    check(run, file, &share, order + i, wrong);
  }
  kernel_file_close(handle, file->path);
}

/* The rank with the first wrong element of all ranks reports it. The numbers are signed, because
 * MPI_MIN of MPICH 4.0.2 compares unsigned 64-bit numbers as signed ones. */
static bool agree_right(const struct run* run, const struct wrong* wrong) {
  int64_t own = wrong->order, first, mine = INT64_MAX, index;
  MPI_Allreduce(&own, &first, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
  if (first == INT64_MAX) return true;
  if (own == first) mine = (int64_t)wrong->index;
  MPI_Allreduce(&mine, &index, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
  if (mine == index) {
    char text[512];
    kernel_dataset_describe(&wrong->dataset, wrong->index, wrong->found, text, sizeof text);
    fprintf(stderr, "%s: rank %d: %s: %s\n", run->spec->name, run->rank, wrong->path, text);
  }
  return false;
}

static bool run_step(struct run* run, int step) {
  struct kernel_file file[KERNEL_MAX_FILES];
  struct wrong wrong = {.order = INT64_MAX};
  int files = run->spec->files;
  for (int i = 0; i < files; i++) file[i] = lay_out(run, step, i);
  /* Not earlier: how warm the freed pages are must not depend on the time between two runs. */
  for (int i = 0; i < files && run->options.fresh && run->rank == 0; i++) unlink(file[i].path);
  run->untimed = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  int64_t order = 0;
  for (int i = 0; i < files; order += file[i++].count)
    if (run->options.read)
      read_file(run, &file[i], order, &wrong);
    else
      write_file(run, &file[i]);
  double own = MPI_Wtime() - start - run->untimed, slowest = own;
  MPI_Reduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  run->seconds += slowest;
  order = 0;
  for (int i = 0; i < files; order += file[i++].count)
    if (run->options.verify && !run->options.read) read_again(run, &file[i], order, &wrong);
  for (int i = 0; i < files; i++) {
    for (int j = 0; j < file[i].count; j++)
      run->bytes += kernel_dataset_total(&file[i].dataset[j]) *
                    kernel_element_bytes(file[i].dataset[j].element);
    free(file[i].dataset);
  }
  return !run->options.verify || agree_right(run, &wrong);
}

static void report(const struct run* run) {
  char grid[96];
  const struct kernel_options* options = &run->options;
  double rate = run->seconds > 0 ? (double)run->bytes / 1048576.0 / run->seconds : 0;
  int64_t files = (int64_t)run->spec->files * options->steps * options->passes;
  const char* operation = options->read ? "read" : "write";
  const char* mode = options->collective ? "collective" : "independent";
  kernel_dims_print(&run->grid, grid, sizeof grid);
  if (options->json) {
    printf(
        "{\"kernel\": \"%s\", \"operation\": \"%s\", \"mode\": \"%s\", \"ranks\": %d, "
        "\"grid\": \"%s\", \"files\": %lld, \"bytes\": %llu, \"seconds\": %.6f, "
        "\"mib_per_s\": %.3f, \"verified\": %s}\n",
        run->spec->name, operation, mode, run->ranks, grid, (long long)files,
        (unsigned long long)run->bytes, run->seconds, rate, options->verify ? "true" : "false");
    return;
  }
  printf("%s: %s, %s, %d ranks as %s, %lld files%s\n", run->spec->name, operation, mode, run->ranks,
         grid, (long long)files, options->verify ? ", every byte verified" : "");
  printf("bytes      %llu\nseconds    %.6f\nbandwidth  %.3f MiB/s\n",
         (unsigned long long)run->bytes, run->seconds, rate);
}

static int run_kernel(struct run* run) {
  reserve(run);
  bool right = true;
  const struct kernel_options* options = &run->options;
  int64_t steps = (int64_t)options->steps * options->passes;
  for (int64_t i = 0; right && i < steps; i++) {
    if (i > 0 && options->pause_ms > 0) {
      struct timespec pause = {options->pause_ms / 1000,
                               (long)(options->pause_ms % 1000) * 1000000};
      nanosleep(&pause, NULL);
    }
    right = run_step(run, (int)(i % options->steps));
  }
  free(run->buffer);
  if (right && run->rank == 0) report(run);
  return right ? 0 : 1;
}

int kernel_main(int argc, char** argv, const struct kernel_spec* spec) {
  static struct run run;
  char error[512];
  run.spec = spec;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &run.ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
  kernel_io_begin(spec->name);
  int status = 2;
  bool parsed = kernel_options_parse(argc, argv, spec, &run.options, error, sizeof error);
  if (parsed && run.options.help) {
    if (run.rank == 0) kernel_options_help(stdout, spec);
    status = 0;
  } else if (parsed && resolve(&run, error, sizeof error)) {
    status = run_kernel(&run);
  } else if (run.rank == 0) {
    fprintf(stderr, "%s: %s\n", spec->name, error);
  }
  MPI_Finalize();
  return status;
}
