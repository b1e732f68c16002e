/* What every program that `iotune replay --emit-c` writes begins with: the calls of parallel HDF5
 * that a run made, without the run's tables, which follow it. */
#include <errno.h>
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum kind { NOTHING, ALL, SLABS, POINTS };

/* What one rank selects: `pieces` slabs (start, stride, count, block of every dimension, one
 * after the other), which are united, or points. */
struct selection {
  enum kind kind;
  size_t pieces;
  const hsize_t* place;
};

struct element {
  H5T_class_t class;
  size_t bytes;
};

static const char* directory = ".";
static char path_buffer[4096];
static char* data;
static unsigned long long moved; /* bytes of this rank */
static long long pause_ns;       /* of this rank, before each call of the next transfer */
/* Whether the next transfer's dataset is closed and opened again: before each call, or before each
 * but the first, which finds it just opened. */
static enum { KEPT, ANEW, ANEW_AFTER_FIRST } opening;
static int rank;

static inline _Noreturn void fail(const char* name, const char* what) {
  fprintf(stderr, "rank %d: %s: %s\n", rank, name, what);
  fflush(NULL);
  MPI_Abort(MPI_COMM_WORLD, 1);
  _Exit(1);
}

static inline hid_t need(hid_t id, const char* name, const char* what) {
  if (id < 0) fail(name, what);
  return id;
}

static inline const char* in_directory(const char* name) {
  int length = snprintf(path_buffer, sizeof path_buffer, "%s/%s", directory, name);
  if (length < 0 || (size_t)length >= sizeof path_buffer) fail(name, "the path is too long");
  return path_buffer;
}

static inline void wait_pause(void) {
  struct timespec left = {(time_t)(pause_ns / 1000000000), (long)(pause_ns % 1000000000)};
  while (pause_ns > 0 && clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
  }
}

/* Bytes that do not compress to nothing; touched before the clock starts. */
static inline void reserve(size_t bytes) {
  unsigned state = (unsigned)rank + 1;
  data = malloc(bytes > 0 ? bytes : 1);
  if (data == NULL) fail("memory", "there is not enough for the largest transfer");
  for (size_t i = 0; i < bytes; i++) {
    state = state * 1664525u + 1013904223u;
    data[i] = (char)(state >> 24);
  }
}

static inline hid_t open_file(const char* name, int create, int writes) {
  hid_t access = need(H5Pcreate(H5P_FILE_ACCESS), name, "no file access list");
  need(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL), name, "no MPI-IO driver");
  const char* path = in_directory(name);
  hid_t file = create ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access)
                      : H5Fopen(path, writes ? H5F_ACC_RDWR : H5F_ACC_RDONLY, access);
  H5Pclose(access);
  return need(file, path, create ? "cannot be created" : "cannot be opened");
}

static inline void wait_for_all(const char* name);

static inline void close_file(hid_t file, const char* name) {
  wait_for_all(name);
  need(H5Fclose(file), name, "cannot be closed");
}

/* The caller closes it. */
static inline hid_t type_of(struct element element) {
  hid_t type;
  if (element.class == H5T_FLOAT && (element.bytes == 4 || element.bytes == 8))
    return H5Tcopy(element.bytes == 4 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE);
  if (element.class == H5T_STRING) {
    type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, element.bytes);
    return type;
  }
  switch (element.class == H5T_INTEGER ? element.bytes : 0) {
    case 1:
      return H5Tcopy(H5T_NATIVE_INT8);
    case 2:
      return H5Tcopy(H5T_NATIVE_INT16);
    case 4:
      return H5Tcopy(H5T_NATIVE_INT32);
    case 8:
      return H5Tcopy(H5T_NATIVE_INT64);
    default:
      return H5Tcreate(H5T_OPAQUE, element.bytes);
  }
}

/* `chunk` NULL: contiguous; `deflate` -1: not compressed. */
static inline hid_t create_dataset(hid_t file, const char* name, struct element element, int ndims,
                                   const hsize_t* dims, const hsize_t* chunk, int deflate) {
  hid_t type = need(type_of(element), name, "no element type");
  hid_t space = ndims == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(ndims, dims, NULL);
  need(space, name, "no dataspace");
  hid_t links = need(H5Pcreate(H5P_LINK_CREATE), name, "no link creation list");
  need(H5Pset_create_intermediate_group(links, 1), name, "no intermediate groups");
  hid_t creation = H5P_DEFAULT;
  if (chunk != NULL) {
    creation = need(H5Pcreate(H5P_DATASET_CREATE), name, "no dataset creation list");
    need(H5Pset_chunk(creation, ndims, chunk), name, "no chunks");
    if (deflate >= 0) need(H5Pset_deflate(creation, (unsigned)deflate), name, "no compression");
  }
  hid_t dataset = H5Dcreate2(file, name, type, space, links, creation, H5P_DEFAULT);
  if (chunk != NULL) H5Pclose(creation);
  H5Pclose(links);
  H5Sclose(space);
  H5Tclose(type);
  return need(dataset, name, "cannot be created");
}

static inline hid_t open_dataset(hid_t file, const char* name) {
  return need(H5Dopen2(file, name, H5P_DEFAULT), name, "cannot be opened");
}

static inline void close_dataset(hid_t dataset, const char* name) {
  need(H5Dclose(dataset), name, "cannot be closed");
}

static inline void open_anew(hid_t* dataset, hsize_t call, const char* name) {
  if (opening == KEPT || (opening == ANEW_AFTER_FIRST && call == 0)) return;
  hid_t file = need(H5Iget_file_id(*dataset), name, "is in no file");
  close_dataset(*dataset, name);
  *dataset = open_dataset(file, name);
  need(H5Fclose(file), name, "cannot give its file back");
}

/* Selects in `space`, `repetition` times `shift` further; returns the memory dataspace. */
static inline hid_t select_in(hid_t space, const struct selection* own, const hssize_t* shift,
                              hsize_t repetition, const char* name) {
  int n = H5Sget_simple_extent_ndims(space);
  hsize_t start[H5S_MAX_RANK], packed[H5S_MAX_RANK] = {0};
  if (own->kind == ALL) return need(H5Scopy(space), name, "no memory dataspace");
  need(H5Sselect_none(space), name, "cannot select nothing");
  for (size_t i = 0; own->place != NULL && i < own->pieces; i++) {
    const hsize_t* from = own->place + i * (size_t)n * (own->kind == POINTS ? 1 : 4);
    for (int d = 0; d < n; d++)
      start[d] = from[d] + (shift != NULL ? repetition * (hsize_t)shift[d] : 0);
    herr_t status =
        own->kind == POINTS
            ? H5Sselect_elements(space, i == 0 ? H5S_SELECT_SET : H5S_SELECT_APPEND, 1, start)
            : H5Sselect_hyperslab(space, i == 0 ? H5S_SELECT_SET : H5S_SELECT_OR, start, from + n,
                                  from + 2 * n, from + 3 * n);
    need(status, name, "cannot be selected");
    for (int d = 0; own->kind == SLABS && d < n; d++) packed[d] = from[2 * n + d] * from[3 * n + d];
  }
  hssize_t selected = H5Sget_select_npoints(space);
  hsize_t length = selected > 0 ? (hsize_t)selected : 1;
  hid_t memory = own->kind == SLABS && own->pieces == 1 ? H5Screate_simple(n, packed, NULL)
                                                        : H5Screate_simple(1, &length, NULL);
  need(memory, name, "no memory dataspace");
  if (selected == 0) H5Sselect_none(memory);
  return memory;
}

enum { READ, WRITE };
/* How a transfer is made: bits. WAIT: afterwards for all that was begun. */
enum { INDEPENDENT = 0, COLLECTIVE = 1, ASYNC = 2, WAIT = 4 };

/* The caller closes it where it is not H5P_DEFAULT. */
static inline hid_t transfer_list(int how, const char* name) {
  if (!(how & COLLECTIVE)) return H5P_DEFAULT;
  hid_t mode = need(H5Pcreate(H5P_DATASET_XFER), name, "no transfer list");
  need(H5Pset_dxpl_mpio(mode, H5FD_MPIO_COLLECTIVE), name, "no collective mode");
  return mode;
}

/* Before HDF5 1.14 nothing is asynchronous, and each dataset has a call of its own. */
#if H5_VERSION_GE(1, 14, 0)
static hid_t events = H5I_INVALID_HID;

static inline hid_t event_set(const char* name) {
  if (events < 0) events = need(H5EScreate(), name, "no event set");
  return events;
}

static inline void wait_for_all(const char* name) {
  size_t left = 0;
  hbool_t failed = 0;
  if (events < 0) return;
  need(H5ESwait(events, H5ES_WAIT_FOREVER, &left, &failed), name, "cannot be waited for");
  if (failed || left > 0) fail(name, "an asynchronous transfer failed");
  H5ESclose(events);
  events = H5I_INVALID_HID;
}
#else
static inline void wait_for_all(const char* name) {
  (void)name;
}
#endif

static inline herr_t move(hid_t dataset, int write, int how, hid_t type, hid_t memory, hid_t space,
                          hid_t mode, char* bytes, const char* name) {
#if H5_VERSION_GE(1, 14, 0)
  if (how & ASYNC)
    return write ? H5Dwrite_async(dataset, type, memory, space, mode, bytes, event_set(name))
                 : H5Dread_async(dataset, type, memory, space, mode, bytes, event_set(name));
#endif
  (void)how;
  (void)name;
  return write ? H5Dwrite(dataset, type, memory, space, mode, bytes)
               : H5Dread(dataset, type, memory, space, mode, bytes);
}

/* `of_rank`: what each rank selects. A rank with NOTHING in one piece made no call; in a collective
 * transfer it takes part all the same. `repeat` calls, each `shift` further than the one before. */
static inline void transfer(hid_t* dataset, const char* name, int write, int how,
                            const struct selection* of_rank, hsize_t repeat,
                            const hssize_t* shift) {
  const struct selection* own = &of_rank[rank];
  if (own->kind == NOTHING && own->pieces > 0 && !(how & COLLECTIVE)) return;
  hid_t mode = transfer_list(how, name);
  hid_t type = need(H5Dget_type(*dataset), name, "no element type");
  for (hsize_t i = 0; i < repeat; i++) {
    open_anew(dataset, i, name);
    wait_pause();
    hid_t space = need(H5Dget_space(*dataset), name, "no dataspace");
    hid_t memory = select_in(space, own, shift, i, name);
    moved += (unsigned long long)H5Sget_select_npoints(space) * H5Tget_size(type);
    herr_t status = move(*dataset, write, how, type, memory, space, mode, data, name);
    need(status, name, write ? "cannot be written" : "cannot be read");
    H5Sclose(memory);
    H5Sclose(space);
    if (how & WAIT) wait_for_all(name);
  }
  H5Tclose(type);
  if (how & COLLECTIVE) H5Pclose(mode);
}

/* Chunks of `bytes` bytes as they lie in the file, one a slab; `filters` that were left out. */
static inline void transfer_chunks(hid_t* dataset, const char* name, int write, unsigned filters,
                                   size_t bytes, const struct selection* of_rank, hsize_t repeat,
                                   const hssize_t* shift) {
  const struct selection* own = &of_rank[rank];
  hsize_t at[H5S_MAX_RANK];
  uint32_t mask = filters;
  hid_t space = need(H5Dget_space(*dataset), name, "no dataspace");
  hid_t type = need(H5Dget_type(*dataset), name, "no element type");
  int n = H5Sget_simple_extent_ndims(space);
  size_t elements = 0, each;
  for (size_t k = 0; own->kind == SLABS && k < own->pieces; k++, elements += each) {
    each = 1;
    for (int d = 2 * n; d < 3 * n; d++)
      each *= (size_t)(own->place[k * 4 * (size_t)n + (size_t)d] *
                       own->place[k * 4 * (size_t)n + (size_t)(d + n)]);
  }
  moved += repeat * elements * H5Tget_size(type);
  H5Tclose(type);
  H5Sclose(space);
  for (hsize_t i = 0; i < repeat; i++) {
    if (own->kind == SLABS) open_anew(dataset, i, name);
    wait_pause();
    for (size_t k = 0; own->kind == SLABS && k < own->pieces; k++) {
      for (int d = 0; d < n; d++)
        at[d] =
            own->place[k * 4 * (size_t)n + (size_t)d] + (shift != NULL ? i * (hsize_t)shift[d] : 0);
      herr_t status = write ? H5Dwrite_chunk(*dataset, H5P_DEFAULT, mask, at, bytes, data)
#if H5_VERSION_GE(2, 0, 0)
                            : H5Dread_chunk1(*dataset, H5P_DEFAULT, at, &mask, data);
#else
                            : H5Dread_chunk(*dataset, H5P_DEFAULT, at, &mask, data);
#endif
      need(status, name, write ? "has a chunk not to be written" : "has a chunk not to be read");
    }
  }
}

/* A dataset among those that one call moves. */
struct part {
  hid_t* dataset;
  const char* name;
  const struct selection* of_rank;
  int anew; /* closed and opened again before the call */
};

static inline void transfer_multi(int write, int how, size_t parts, const struct part* part) {
  size_t n = 0, at = 0;
  const char* name = part[0].name;
  hid_t* dataset = calloc(4 * parts, sizeof *dataset);
  char** bytes = calloc(parts, sizeof *bytes);
  if (dataset == NULL || bytes == NULL) fail(name, "out of memory");
  hid_t *type = dataset + parts, *memory = type + parts, *space = memory + parts;
  for (size_t i = 0; i < parts; i++) {
    const struct selection* own = &part[i].of_rank[rank];
    if (own->kind == NOTHING && own->pieces > 0 && !(how & COLLECTIVE)) continue;
    opening = part[i].anew ? ANEW : KEPT;
    open_anew(part[i].dataset, 0, part[i].name);
    dataset[n] = *part[i].dataset;
    type[n] = need(H5Dget_type(dataset[n]), part[i].name, "no element type");
    space[n] = need(H5Dget_space(dataset[n]), part[i].name, "no dataspace");
    memory[n] = select_in(space[n], own, NULL, 0, part[i].name);
    bytes[n] = data + at;
    at += (size_t)H5Sget_select_npoints(space[n]) * H5Tget_size(type[n]);
    n++;
  }
  moved += at;
  hid_t mode = transfer_list(how, name);
  wait_pause();
#if H5_VERSION_GE(1, 14, 0)
  herr_t status = 0;
  if (n > 0 && (how & ASYNC))
    status = write ? H5Dwrite_multi_async(n, dataset, type, memory, space, mode,
                                          (const void**)bytes, event_set(name))
                   : H5Dread_multi_async(n, dataset, type, memory, space, mode, (void**)bytes,
                                         event_set(name));
  else if (n > 0)
    status = write ? H5Dwrite_multi(n, dataset, type, memory, space, mode, (const void**)bytes)
                   : H5Dread_multi(n, dataset, type, memory, space, mode, (void**)bytes);
  need(status, name, "several datasets cannot be moved by one call");
#else
  for (size_t i = 0; i < n; i++)
    need(move(dataset[i], write, how, type[i], memory[i], space[i], mode, bytes[i], name), name,
         write ? "cannot be written" : "cannot be read");
#endif
  if (how & COLLECTIVE) H5Pclose(mode);
  for (size_t i = 0; i < n; i++) {
    H5Sclose(memory[i]);
    H5Sclose(space[i]);
    H5Tclose(type[i]);
  }
  free(dataset);
  free(bytes);
  if (how & WAIT) wait_for_all(name);
}

/* Writes a whole dataset from one process, some rows at a time. */
static inline void fill_dataset(hid_t dataset, const char* name) {
  enum { PIECE = 1 << 26 };
  hsize_t dims[H5S_MAX_RANK] = {1}, start[H5S_MAX_RANK] = {0}, row = 1;
  hid_t space = need(H5Dget_space(dataset), name, "no dataspace");
  hid_t type = need(H5Dget_type(dataset), name, "no element type");
  int n = H5Sget_simple_extent_dims(space, dims, NULL);
  hsize_t rows = dims[0];
  for (int d = 1; d < n; d++) row *= dims[d];
  hsize_t bytes = row * H5Tget_size(type), step = bytes > 0 && bytes < PIECE ? PIECE / bytes : 1;
  if (step > rows) step = rows;
  char* rows_data = calloc(step > 0 ? step : 1, bytes > 0 ? bytes : 1);
  if (rows_data == NULL) fail(name, "not enough memory for a row");
  for (hsize_t i = 0; i < step * bytes; i++) rows_data[i] = (char)(i * 2654435761u >> 24);
  for (; start[0] < rows && bytes > 0; start[0] += step) {
    dims[0] = start[0] + step <= rows ? step : rows - start[0];
    if (n > 0) H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, dims, NULL);
    hid_t memory = n > 0 ? H5Screate_simple(n, dims, NULL) : H5Scopy(space);
    need(H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, rows_data), name, "cannot be written");
    H5Sclose(memory);
  }
  free(rows_data);
  H5Tclose(type);
  H5Sclose(space);
}

static inline int exists(const char* name) {
  int found = rank == 0 && access(in_directory(name), F_OK) == 0;
  MPI_Bcast(&found, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return found;
}

/* On rank 0, in its own name until it is whole; the others wait for it. */
static inline void prepare_file(const char* name, void (*fill)(hid_t file)) {
  if (exists(name)) return;
  if (rank == 0) {
    char part[sizeof path_buffer + 16];
    snprintf(part, sizeof part, "%s.preparing", in_directory(name));
    hid_t file =
        need(H5Fcreate(part, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), part, "cannot be created");
    fill(file);
    close_file(file, part);
    if (rename(part, in_directory(name)) != 0) fail(name, "cannot be renamed");
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* A run's own files may lie in the directory: they are not replaced without being asked to. */
static inline void demand_free(const char* name, int overwrite) {
  if (overwrite || !exists(name)) return;
  if (rank == 0) fprintf(stderr, "%s/%s exists: --overwrite replaces it\n", directory, name);
  MPI_Finalize();
  exit(1);
}

/* Returns whether --overwrite was given. */
static inline int begin(int argc, char** argv, int wanted_ranks) {
  int ranks, overwrite = 0, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], "--overwrite") == 0)
      overwrite = 1;
    else if (argv[i][0] == '-')
      wrong = 1;
    else
      directory = argv[i];
  if (!wrong && ranks == wanted_ranks) return overwrite;
  if (rank == 0)
    fprintf(stderr, "usage: mpirun -n %d %s [--overwrite] [DIRECTORY]\n", wanted_ranks, argv[0]);
  MPI_Finalize();
  exit(2);
}

static inline int finish(double started, int files) {
  double own = MPI_Wtime() - started, seconds = own;
  unsigned long long bytes = 0;
  MPI_Reduce(&own, &seconds, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(&moved, &bytes, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("{\"bytes\": %llu, \"seconds\": %.6f, \"mib_per_s\": %.3f, \"files\": %d}\n", bytes,
           seconds, seconds > 0 ? (double)bytes / 1048576.0 / seconds : 0, files);
  free(data);
  MPI_Finalize();
  return 0;
}
