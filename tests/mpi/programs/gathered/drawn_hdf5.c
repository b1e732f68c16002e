/* Draws writes to datasets, each rank to elements of its own, between calls that all ranks make; a
 * rank reads its own elements back at any time, and rank 0 reads the whole file at the end.
 *   drawn_hdf5 FILE SEED ROUNDS
 * Prints what a rank or the file has other than was written, and fails then. With -DSERIAL one
 * process, without MPI. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef SERIAL
#include <mpi.h>
#endif

enum { DATASETS = 4, MOST = 4096, DIMS = 3 };

struct Dataset {
  char name[16];
  hid_t id; /* -1: closed, or not there */
  int exists, n, owned_dim, cyclic;
  hsize_t dims[DIMS];
  hid_t type;       /* in the file and in memory */
  int values[MOST]; /* what this rank has written; 0 elsewhere */
};

static struct Dataset datasets[DATASETS];
static int rank, size = 1, failures, next_value, joint_metadata;
static unsigned shared_state, own_state;
static hid_t file, fapl, independent, collective;

static unsigned draw(unsigned* state, unsigned n) {
  *state = *state * 1664525u + 1013904223u;
  return (*state >> 8) % n;
}
static unsigned shared(unsigned n) {
  return draw(&shared_state, n);
}
static unsigned own(unsigned n) {
  return draw(&own_state, n);
}

static void wrong(const char* what, const char* where) {
  printf("rank %d: %s: %s\n", rank, what, where);
  ++failures;
}
static void need(long long result, const char* what) {
  if (result < 0) wrong("failed", what);
}

static size_t elements(const struct Dataset* d) {
  size_t all = 1;
  for (int i = 0; i < d->n; ++i) all *= d->dims[i];
  return all;
}

struct Part {
  hsize_t start[DIMS], stride[DIMS], count[DIMS], block[DIMS];
};

/* A part of what this rank owns. 0: it owns nothing. */
static int draw_part(const struct Dataset* d, struct Part* part) {
  for (int i = 0; i < d->n; ++i) {
    hsize_t first = 0, room = d->dims[i];
    if (i == d->owned_dim) {
      const hsize_t share = d->dims[i] / (hsize_t)size;
      if (share == 0) return 0;
      if (d->cyclic) {
        part->start[i] = (hsize_t)rank + (hsize_t)size * own((unsigned)share);
        part->stride[i] = (hsize_t)size * (1 + own(2));
        part->block[i] = 1;
        part->count[i] =
            1 + own((unsigned)((d->dims[i] - part->start[i] - 1) / part->stride[i] + 1));
        continue;
      }
      first = share * (hsize_t)rank;
      room = share;
    }
    const hsize_t from = own((unsigned)room);
    const int all = own(4) == 0;
    part->start[i] = all ? first : first + from;
    part->block[i] = all ? room : own(3) == 0 ? 1 : 1 + own((unsigned)(room - from));
    part->stride[i] = part->block[i] + own(3);
    const hsize_t behind = first + room - part->start[i] - part->block[i];
    part->count[i] = 1 + own((unsigned)(behind / part->stride[i] + 1));
  }
  return 1;
}

static int has(const struct Part* part, int n, const hsize_t* where) {
  for (int i = 0; i < n; ++i) {
    if (where[i] < part->start[i]) return 0;
    const hsize_t from = where[i] - part->start[i];
    if (from / part->stride[i] >= part->count[i] || from % part->stride[i] >= part->block[i])
      return 0;
  }
  return 1;
}

/* A part, or a list of some of its elements; `places` are the elements in row-major order. */
static hid_t draw_selection(const struct Dataset* d, size_t* places, size_t* found) {
  static hsize_t points[MOST * DIMS];
  struct Part part;
  hid_t space = H5Screate_simple(d->n, d->dims, NULL);
  const int some = own(6) == 0, any = draw_part(d, &part);
  *found = 0;
  for (size_t at = 0; any && at < elements(d); ++at) {
    hsize_t* const where = points + *found * (size_t)d->n;
    size_t rest = at;
    for (int i = d->n - 1; i >= 0; --i) {
      where[i] = rest % d->dims[i];
      rest /= d->dims[i];
    }
    if (has(&part, d->n, where) && (!some || own(2) == 0)) places[(*found)++] = at;
  }
  if (*found == 0) {
    H5Sselect_none(space);
  } else if (some) {
    need(H5Sselect_elements(space, H5S_SELECT_SET, *found, points), "H5Sselect_elements");
  } else {
    need(
        H5Sselect_hyperslab(space, H5S_SELECT_SET, part.start, part.stride, part.count, part.block),
        "H5Sselect_hyperslab");
  }
  return space;
}

/* Values of so many elements, in an array of memory with gaps where `gap` is above 0. */
static void write_part(struct Dataset* d, hid_t list) {
  static size_t places[MOST];
  static int values[3 * MOST];
  size_t found;
  hid_t space = draw_selection(d, places, &found);
  hid_t memory;
  const unsigned form = own(3);
  memset(values, 0, sizeof values);
  if (form == 0) { /* as in the file */
    memory = H5S_ALL;
    for (size_t i = 0; i < found; ++i) values[places[i]] = d->values[places[i]] = ++next_value;
  } else {
    const hsize_t gap = form == 1 ? 1 : 3, all = gap * (found == 0 ? 1 : found), count = found;
    const hsize_t zero = 0;
    memory = H5Screate_simple(1, &all, NULL);
    if (found == 0) {
      H5Sselect_none(memory);
    } else if (gap > 1) {
      H5Sselect_hyperslab(memory, H5S_SELECT_SET, &zero, &gap, &count, NULL);
    }
    for (size_t i = 0; i < found; ++i) values[gap * i] = d->values[places[i]] = ++next_value;
  }
  need(H5Dwrite(d->id, d->type, memory, space, list, values), "H5Dwrite");
  if (memory != H5S_ALL) H5Sclose(memory);
  H5Sclose(space);
  /* The program's memory is its own again. */
  memset(values, 0x55, sizeof values);
}

static void read_part(struct Dataset* d) {
  static size_t places[MOST];
  static int values[MOST];
  size_t found;
  hid_t space = draw_selection(d, places, &found);
  if (found > 0) {
    need(H5Dread(d->id, d->type, H5S_ALL, space, H5P_DEFAULT, values), "H5Dread");
    for (size_t i = 0; i < found; ++i) {
      if (values[places[i]] != d->values[places[i]]) {
        wrong("a rank reads something else than it wrote", d->name);
        break;
      }
    }
  }
  H5Sclose(space);
}

static void make(struct Dataset* d) {
  hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
  hsize_t most[DIMS], chunk[DIMS];
  static int number;
  snprintf(d->name, sizeof d->name, "d%d", number++);
  d->n = 1 + (int)shared(DIMS);
  for (int i = 0; i < d->n; ++i) {
    d->dims[i] = 1 + shared(d->n == 1 ? 900 : d->n == 2 ? 40 : 12);
    most[i] = H5S_UNLIMITED;
    chunk[i] = 1 + shared((unsigned)d->dims[i]);
  }
  d->owned_dim = (int)shared((unsigned)d->n);
  d->cyclic = (int)shared(2);
  const int chunked = shared(3) == 0;
  const int nothing = 0; /* what is not written is defined */
  H5Pset_fill_value(dcpl, H5T_NATIVE_INT, &nothing);
  if (chunked) H5Pset_chunk(dcpl, d->n, chunk);
#ifdef SERIAL
  if (chunked && shared(2) == 0) H5Pset_deflate(dcpl, 1);
#endif
  hid_t space = H5Screate_simple(d->n, d->dims, chunked ? most : NULL);
  d->type = H5T_NATIVE_INT;
  memset(d->values, 0, sizeof d->values);
  d->id = H5Dcreate2(file, d->name, d->type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
  need(d->id, "H5Dcreate2");
  d->exists = 1;
  H5Sclose(space);
  H5Pclose(dcpl);
}

static void close_all(void) {
  for (int i = 0; i < DATASETS; ++i) {
    if (datasets[i].id >= 0) need(H5Dclose(datasets[i].id), "H5Dclose");
    datasets[i].id = -1;
  }
}

static void grow(struct Dataset* d) {
  hid_t dcpl = H5Dget_create_plist(d->id);
  const int chunked = H5Pget_layout(dcpl) == H5D_CHUNKED;
  H5Pclose(dcpl);
  if (!chunked) return;
  /* Along the first dimension alone, so that places stay where they are. */
  const hsize_t before = d->dims[0];
  d->dims[0] += shared(3);
  if (elements(d) > MOST) d->dims[0] = before;
  /* Others own other elements from now on. */
  if (d->owned_dim == 0 && !d->cyclic) d->dims[0] = before;
  need(H5Dset_extent(d->id, d->dims), "H5Dset_extent");
}

static void remove_dataset(struct Dataset* d) {
#ifndef SERIAL
  MPI_Barrier(MPI_COMM_WORLD); /* its place may become another's at once */
#endif
  if (d->id >= 0) need(H5Dclose(d->id), "H5Dclose");
  d->id = -1;
  need(H5Ldelete(file, d->name, H5P_DEFAULT), "H5Ldelete");
  d->exists = 0;
}

static void joint_call(const char* path) {
  struct Dataset* const d = &datasets[shared(DATASETS)];
  switch (shared(9)) {
    case 0:
      need(H5Fflush(file, H5F_SCOPE_GLOBAL), "H5Fflush");
      break;
    case 1:
      if (d->exists) remove_dataset(d);
      break;
    case 2:
      if (d->id >= 0) need(H5Dclose(d->id), "H5Dclose");
      d->id = -1;
      break;
    case 3:
      close_all();
      need(H5Fclose(file), "H5Fclose");
      file = H5Fopen(path, H5F_ACC_RDWR, fapl);
      need(file, "H5Fopen");
      break;
    case 4:
      if (d->id >= 0) grow(d);
      break;
    case 5:
      if (d->id >= 0) write_part(d, collective);
      break;
    default:
      break;
  }
  if (!d->exists) make(d);
  if (d->id < 0) {
    d->id = H5Dopen2(file, d->name, H5P_DEFAULT);
    need(d->id, "H5Dopen2");
  }
}

static void own_call(void) {
  struct Dataset* const d = &datasets[own(DATASETS)];
  if (d->id < 0) return;
  switch (own(12)) {
    case 0:
      read_part(d);
      break;
    case 1:
      H5Dget_storage_size(d->id);
      break;
    case 2: {
      /* The same dataset by a second identifier. Its open is the ranks' own where it may be. */
      if (joint_metadata) break;
      const hid_t first = d->id;
      d->id = H5Dopen2(file, d->name, H5P_DEFAULT);
      write_part(d, H5P_DEFAULT);
      need(H5Dclose(d->id), "H5Dclose");
      d->id = first;
      break;
    }
    default:
      write_part(d, own(3) == 0 ? independent : H5P_DEFAULT);
  }
}

/* What all ranks together have written is in the file. */
static void check_file(const char* path) {
  static int found[MOST], all[MOST];
  const hid_t opened = rank == 0 ? H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT) : -1;
  for (int i = 0; i < DATASETS; ++i) {
    struct Dataset* const d = &datasets[i];
    if (!d->exists) continue;
#ifdef SERIAL
    memcpy(all, d->values, sizeof all);
#else
    MPI_Reduce(d->values, all, MOST, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
#endif
    if (rank != 0) continue;
    const hid_t dataset = H5Dopen2(opened, d->name, H5P_DEFAULT);
    need(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, found), "last H5Dread");
    H5Dclose(dataset);
    if (memcmp(found, all, elements(d) * sizeof *all) != 0) wrong("the file differs", d->name);
  }
  if (opened >= 0) H5Fclose(opened);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
#ifndef SERIAL
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
#endif
  shared_state = (unsigned)atoi(argv[2]);
  own_state = shared_state * 2654435761u + (unsigned)rank * 40503u;
  fapl = H5Pcreate(H5P_FILE_ACCESS);
  independent = H5Pcreate(H5P_DATASET_XFER);
  collective = H5Pcreate(H5P_DATASET_XFER);
#ifndef SERIAL
  H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL);
  joint_metadata = shared(4) == 0;
  if (joint_metadata) H5Pset_all_coll_metadata_ops(fapl, 1);
  H5Pset_dxpl_mpio(collective, H5FD_MPIO_COLLECTIVE);
#endif
  file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
  need(file, "H5Fcreate");
  for (int i = 0; i < DATASETS; ++i) make(&datasets[i]);
  const int rounds = atoi(argv[3]);
  for (int round = 0; round < rounds; ++round) {
    const unsigned calls = own(25);
    for (unsigned i = 0; i < calls; ++i) own_call();
    joint_call(argv[1]);
  }
  close_all();
  need(H5Fclose(file), "last H5Fclose");
  check_file(argv[1]);
  H5Pclose(fapl);
  H5Pclose(independent);
  H5Pclose(collective);
#ifndef SERIAL
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  failures = all;
  MPI_Finalize();
#endif
  return failures != 0;
}
