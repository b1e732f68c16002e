/* iotune-prove-hdf5: files of HDF5. Datasets are contiguous or chunked, written in drawn boxes by
 * collective and independent transfers, twice over in parts, in parallel and by one rank with the
 * default driver; several files and datasets are open at a time. Some grow, all have
 * an attribute and lie in a group. The file is then read without any settings, contiguous datasets
 * also by POSIX calls from where HDF5 says that they lie. Small files follow, by ranks that are
 * stopped at random. */
#include "prove_hdf5.h"

#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  NAME_BYTES = 32,
  DATASETS = 3,
  MOST_SIDE = 120,
  SMALL_SIDE = 20, /* of small files */
  MOST_VALUES = MOST_SIDE * MOST_SIDE,
  NOTES = 5,      /* values of an attribute */
  MOST_PARTS = 5, /* of one rank's strided transfers */
  PAGED_READS = 40,
  LEAST_SMALL = 4,
  MOST_SMALL = 60, /* pairs of small files */
  BEFORE = -7
};

struct dataset {
  hid_t id;
  hsize_t sides[2];
  int may_grow;
  int* values;      /* what it must hold */
  int notes[NOTES]; /* likewise its attribute */
};

struct file {
  char path[4096];
  int number;
  int parallel;
  int most_side;
  hid_t id;
  struct dataset datasets[DATASETS];
};

struct box {
  hsize_t start[2], count[2];
};

static void name_of(char* name, int dataset) {
  snprintf(name, NAME_BYTES, "g%d/d%d", dataset % 2, dataset);
}

/* Again and again into the same attribute. */
static void write_notes(const struct file* file, struct dataset* one, unsigned long long* state) {
  hsize_t count = NOTES;
  hid_t attribute = H5Aexists(one->id, "notes") > 0 ? H5Aopen(one->id, "notes", H5P_DEFAULT) : -1;
  if (attribute < 0) {
    hid_t space =
        prove_hdf5_need(H5Screate_simple(1, &count, NULL), file->path, "H5Screate_simple");
    attribute = H5Acreate2(one->id, "notes", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Sclose(space);
  }
  prove_hdf5_need(attribute, file->path, "an attribute");
  for (int i = 0; i < NOTES; i++) one->notes[i] = (int)prove_below(state, 1 << 30);
  prove_hdf5_need(H5Awrite(attribute, H5T_NATIVE_INT, one->notes), file->path, "H5Awrite");
  H5Aclose(attribute);
}

static void compare_notes(struct prove* prove, const struct file* file, hid_t dataset,
                          const struct dataset* one) {
  int got[NOTES] = {0};
  unsigned char known[sizeof got];
  struct prove_image image = {(unsigned char*)one->notes, known, sizeof got};
  hid_t attribute = prove_hdf5_need(H5Aopen(dataset, "notes", H5P_DEFAULT), file->path, "H5Aopen");
  prove_hdf5_need(H5Aread(attribute, H5T_NATIVE_INT, got), file->path, "H5Aread");
  H5Aclose(attribute);
  memset(known, 1, sizeof known);
  prove_compare(prove, "in an attribute", file->number, 0, (unsigned char*)got, &image, sizeof got);
}

static void create_dataset(const struct prove* prove, struct file* file, int at,
                           unsigned long long* state) {
  struct dataset* one = &file->datasets[at];
  char name[NAME_BYTES];
  name_of(name, at);
  hid_t list = prove_hdf5_need(H5Pcreate(H5P_DATASET_CREATE), file->path, "H5Pcreate");
  for (int d = 0; d < 2; d++) one->sides[d] = 1 + (hsize_t)prove_below(state, file->most_side);
  hsize_t chunk[2] = {0, 0}, most[2] = {H5S_UNLIMITED, MOST_SIDE};
  const char* asked = prove_value(prove, "chunk");
  const char* fill_time = prove_value(prove, "fill_time");
  if (prove_below(state, 2))
    for (int d = 0; d < 2; d++)
      chunk[d] = 1 + (hsize_t)prove_below(state, (long long)one->sides[d]);
  one->may_grow = chunk[0] != 0 && prove_below(state, 2);
  /* As the tuner: of datasets without a layout of the program's, where they fit. */
  if (asked != NULL && chunk[0] == 0) {
    chunk[0] = prove_number(asked);
    chunk[1] = prove_number(strchr(asked, ',') + 1);
    for (int d = 0; d < 2; d++)
      if (chunk[d] > one->sides[d]) chunk[d] = one->sides[d];
    if (fill_time != NULL)
      prove_hdf5_need(H5Pset_fill_time(list, strcmp(fill_time, "never") == 0 ? H5D_FILL_TIME_NEVER
                                                                             : H5D_FILL_TIME_IFSET),
                      file->path, "H5Pset_fill_time");
  }
  if (chunk[0] != 0) prove_hdf5_need(H5Pset_chunk(list, 2, chunk), file->path, "H5Pset_chunk");
  hid_t space = prove_hdf5_need(H5Screate_simple(2, one->sides, one->may_grow ? most : NULL),
                                file->path, "H5Screate_simple");
  hid_t parents = prove_hdf5_need(H5Pcreate(H5P_LINK_CREATE), file->path, "H5Pcreate");
  prove_hdf5_need(H5Pset_create_intermediate_group(parents, 1), file->path,
                  "H5Pset_create_intermediate_group");
  one->id =
      prove_hdf5_need(H5Dcreate2(file->id, name, H5T_NATIVE_INT, space, parents, list, H5P_DEFAULT),
                      file->path, "H5Dcreate2");
  H5Pclose(parents);
  H5Sclose(space);
  H5Pclose(list);
  for (int i = 0; i < MOST_VALUES; i++) one->values[i] = BEFORE;
  write_notes(file, one, state);
}

/* Lets a dataset grow. Bytes that come so are not compared. Cutting is left out: with HDF5
 * 1.10.8 values were wrong after it without any setting. */
static void grow(const struct file* file, struct dataset* one, unsigned long long* state) {
  static int before[MOST_VALUES];
  hsize_t old[2] = {one->sides[0], one->sides[1]};
  if (!one->may_grow) return;
  memcpy(before, one->values, sizeof before);
  for (int d = 0; d < 2; d++) {
    long long room = (long long)MOST_SIDE - (long long)one->sides[d];
    one->sides[d] += room > 0 ? (hsize_t)prove_below(state, room < 20 ? room : 20) : 0;
  }
  prove_hdf5_need(H5Dset_extent(one->id, one->sides), file->path, "H5Dset_extent");
  for (hsize_t i = 0; i < one->sides[0]; i++)
    for (hsize_t j = 0; j < one->sides[1]; j++)
      one->values[i * one->sides[1] + j] =
          i < old[0] && j < old[1] ? before[i * old[1] + j] : BEFORE;
}

/* The boxes of all ranks, without overlap: rows or columns in turn, or one part each. */
static void draw_boxes(unsigned long long* state, const struct dataset* one, int ranks,
                       struct box* boxes, int* cyclic) {
  int along = (int)prove_below(state, 2);
  *cyclic = (int)prove_below(state, 2);
  for (int rank = 0; rank < ranks; rank++) {
    struct box* box = &boxes[rank];
    hsize_t side = one->sides[along], each = side / (hsize_t)ranks;
    *box = (struct box){{0, 0}, {one->sides[0], one->sides[1]}};
    box->start[along] = *cyclic ? (hsize_t)rank : each * (hsize_t)rank;
    box->count[along] = rank == ranks - 1 ? side - each * (hsize_t)(ranks - 1) : each;
    if (*cyclic)
      box->count[along] =
          (hsize_t)rank < side ? (side - (hsize_t)rank - 1) / (hsize_t)ranks + 1 : 0;
    box->start[1 - along] = (hsize_t)prove_below(state, (long long)one->sides[1 - along]);
    box->count[1 - along] =
        1 + (hsize_t)prove_below(state, (long long)(one->sides[1 - along] - box->start[1 - along]));
    if (*cyclic) *cyclic = along + 1;
  }
}

/* The values at a box, into or out of `values`, in the order of the selection. */
static long long visit_box(struct dataset* one, const struct box* box, int ranks, int cyclic,
                           int* packed, int writing, int compare, struct prove* prove, int file) {
  hsize_t step[2] = {1, 1};
  if (cyclic) step[cyclic - 1] = (hsize_t)ranks;
  long long n = 0;
  for (hsize_t i = 0; i < box->count[0]; i++) {
    for (hsize_t j = 0; j < box->count[1]; j++, n++) {
      hsize_t at = (box->start[0] + i * step[0]) * one->sides[1] + box->start[1] + j * step[1];
      if (writing) {
        one->values[at] = packed[n];
      } else if (compare) {
        if (one->values[at] == BEFORE) continue;
        prove->compared_bytes += (long long)sizeof(int);
        if (packed[n] == one->values[at]) continue;
        prove->wrong_bytes += (long long)sizeof(int);
        if (prove->first_fault[0] == '\0')
          snprintf(prove->first_fault, sizeof prove->first_fault,
                   "as read by HDF5, file %d, element %llu, on rank %d: %d instead of %d", file,
                   (unsigned long long)at, prove->rank, packed[n], one->values[at]);
      }
    }
  }
  return n;
}

static void select_box(hid_t space, const struct box* box, int ranks, int cyclic,
                       const char* path) {
  hsize_t step[2] = {1, 1};
  if (box->count[0] == 0 || box->count[1] == 0) {
    prove_hdf5_need(H5Sselect_none(space), path, "H5Sselect_none");
    return;
  }
  if (cyclic) step[cyclic - 1] = (hsize_t)ranks;
  prove_hdf5_need(H5Sselect_hyperslab(space, H5S_SELECT_SET, box->start, step, box->count, NULL),
                  path, "H5Sselect_hyperslab");
}

static void transfer(struct prove* prove, struct file* file, struct dataset* one,
                     unsigned long long* state, int round, int writing, struct box* boxes,
                     int* packed) {
  int cyclic = 0, collective = prove_below(state, 3) > 0;
  int ranks = file->parallel ? prove->ranks : 1, rank = file->parallel ? prove->rank : 0;
  /* One rank alone leaves the parts of others out, which it has not. */
  int parts = prove->ranks == 1 ? 1 + (int)prove_below(state, MOST_PARTS) : ranks;
  draw_boxes(state, one, parts, boxes, &cyclic);
  hid_t dxpl = prove_transfer_list(prove, file->path, file->parallel, collective);
  hid_t space = prove_hdf5_need(H5Dget_space(one->id), file->path, "H5Dget_space");
  select_box(space, &boxes[rank], parts, cyclic, file->path);
  hsize_t n = boxes[rank].count[0] * boxes[rank].count[1];
  hid_t memory = prove_hdf5_need(H5Screate_simple(1, &n, NULL), file->path, "H5Screate_simple");
  if (n == 0) H5Sselect_none(memory);
  if (writing) {
    for (int other = ranks - 1; other >= 0; other--) {
      /* This rank's own come last, for the transfer. */
      int of = other == 0 ? rank : other == rank ? 0 : other;
      long long count = (long long)(boxes[of].count[0] * boxes[of].count[1]);
      for (long long i = 0; i < count; i++)
        packed[i] =
            (int)(prove->seed * 7919 +
                  (unsigned long long)(file->number * 1000003 + round * 100003 + of * 10007) +
                  (unsigned long long)i);
      visit_box(one, &boxes[of], parts, cyclic, packed, 1, 0, prove, file->number);
    }
    prove_hdf5_need(H5Dwrite(one->id, H5T_NATIVE_INT, memory, space, dxpl, packed), file->path,
                    "H5Dwrite");
  } else {
    prove_hdf5_need(H5Dread(one->id, H5T_NATIVE_INT, memory, space, dxpl, packed), file->path,
                    "H5Dread");
    visit_box(one, &boxes[rank], parts, cyclic, packed, 0, 1, prove, file->number);
  }
  H5Sclose(memory);
  H5Sclose(space);
  H5Pclose(dxpl);
}

/* What POSIX calls find where HDF5 says that the dataset lies. */
static void compare_bytes(struct prove* prove, const struct file* file, hid_t dataset,
                          const struct dataset* one) {
  haddr_t place = H5Dget_offset(dataset);
  long long bytes = (long long)(one->sides[0] * one->sides[1] * sizeof(int));
  if (place == HADDR_UNDEF) return;
  FILE* stream = fopen(file->path, "rb");
  unsigned char* got = calloc(1, (size_t)bytes);
  unsigned char* known = malloc((size_t)bytes);
  if (stream == NULL || got == NULL || known == NULL) prove_fail(file->path, "cannot be compared");
  for (long long i = 0; i < bytes; i++)
    known[i] = one->values[i / (long long)sizeof(int)] != BEFORE;
  if (fseeko(stream, (off_t)place, SEEK_SET) == 0) {
    size_t read = fread(got, 1, (size_t)bytes, stream);
    (void)read; /* what is missing is zero, and compared */
  }
  fclose(stream);
  struct prove_image image = {(unsigned char*)one->values, known, bytes};
  prove_compare(prove, "on disk", file->number, 0, got, &image, bytes);
  free(known);
  free(got);
}

/* One byte of the first contiguous dataset, where the test wants to see it found. */
static void spoil(struct prove* prove, const struct file* file, hid_t dataset,
                  const struct dataset* one) {
  haddr_t place = H5Dget_offset(dataset);
  long long values = (long long)(one->sides[0] * one->sides[1]), at = 0;
  while (at < values && one->values[at] == BEFORE) at++;
  if (!prove->spoil || place == HADDR_UNDEF || at == values) return;
  int other = one->values[at] ^ 1;
  FILE* stream = fopen(file->path, "r+b");
  if (stream == NULL) return;
  if (fseeko(stream, (off_t)place + (off_t)at * (off_t)sizeof(int), SEEK_SET) == 0 &&
      fwrite(&other, sizeof other, 1, stream) == 1)
    prove->spoil = 0;
  fclose(stream);
}

static void compare_file(struct prove* prove, struct file* file) {
  if (prove->rank != 0) return;
  hid_t id =
      prove_hdf5_need(H5Fopen(file->path, H5F_ACC_RDONLY, H5P_DEFAULT), file->path, "H5Fopen");
  int* got = malloc(MOST_VALUES * sizeof(int));
  if (got == NULL) prove_fail(file->path, "no memory");
  for (int d = 0; d < DATASETS; d++) {
    char name[NAME_BYTES];
    name_of(name, d);
    struct dataset* one = &file->datasets[d];
    hid_t dataset = prove_hdf5_need(H5Dopen2(id, name, H5P_DEFAULT), file->path, "H5Dopen2");
    spoil(prove, file, dataset, one);
    prove_hdf5_need(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, got),
                    file->path, "H5Dread");
    struct box whole = {{0, 0}, {one->sides[0], one->sides[1]}};
    visit_box(one, &whole, 1, 0, got, 0, 1, prove, file->number);
    compare_bytes(prove, file, dataset, one);
    compare_notes(prove, file, dataset, one);
    H5Dclose(dataset);
  }
  free(got);
  H5Fclose(id);
}

static void open_file(const struct prove* prove, struct file* file, int creating) {
  hid_t fapl = prove_access_list(prove, file->path, file->parallel);
  hid_t fcpl = prove_hdf5_need(H5Pcreate(H5P_FILE_CREATE), file->path, "H5Pcreate");
#if H5_VERSION_GE(1, 10, 1)
  if (prove_value(prove, "page_buffer") != NULL && !file->parallel)
    prove_hdf5_need(H5Pset_file_space_strategy(fcpl, H5F_FSPACE_STRATEGY_PAGE, 0, 1), file->path,
                    "H5Pset_file_space_strategy");
#endif
  file->id = creating ? H5Fcreate(file->path, H5F_ACC_TRUNC, fcpl, fapl)
                      : H5Fopen(file->path, H5F_ACC_RDWR, fapl);
  prove_hdf5_need(file->id, file->path, creating ? "H5Fcreate" : "H5Fopen");
  H5Pclose(fcpl);
  H5Pclose(fapl);
}

static void close_file(struct file* file) {
  for (int d = 0; d < DATASETS; d++) H5Dclose(file->datasets[d].id);
  prove_hdf5_need(H5Fclose(file->id), file->path, "H5Fclose");
}

static void open_datasets(struct file* file) {
  for (int d = 0; d < DATASETS; d++) {
    char name[NAME_BYTES];
    name_of(name, d);
    file->datasets[d].id =
        prove_hdf5_need(H5Dopen2(file->id, name, H5P_DEFAULT), file->path, "H5Dopen2");
  }
}

static void reopen(const struct prove* prove, struct file* file) {
  close_file(file);
  if (file->parallel) MPI_Barrier(MPI_COMM_WORLD);
  open_file(prove, file, 0);
  open_datasets(file);
}

/* Parts in any order through the page buffer, which is of files that are only read. */
static void read_paged(struct prove* prove, struct file* file, unsigned long long* state,
                       struct box* boxes, int* packed) {
#if H5_VERSION_GE(1, 10, 1)
  const char* value = prove_value(prove, "page_buffer");
  size_t held = 0;
  unsigned least[2];
  if (value == NULL || file->parallel) return;
  hid_t list = prove_hdf5_need(H5Pcreate(H5P_FILE_ACCESS), file->path, "H5Pcreate");
  prove_hdf5_need(H5Pset_page_buffer_size(list, (size_t)prove_number(value), 0, 0), file->path,
                  "H5Pset_page_buffer_size");
  file->id = prove_hdf5_need(H5Fopen(file->path, H5F_ACC_RDONLY, list), file->path, "H5Fopen");
  H5Pclose(list);
  list = prove_hdf5_need(H5Fget_access_plist(file->id), file->path, "H5Fget_access_plist");
  H5Pget_page_buffer_size(list, &held, &least[0], &least[1]);
  H5Pclose(list);
  if (held == 0) prove_fail(file->path, "got no page buffer");
  open_datasets(file);
  for (int i = 0; i < PAGED_READS; i++)
    transfer(prove, file, &file->datasets[prove_below(state, DATASETS)], state, 0, 0, boxes,
             packed);
  close_file(file);
#else
  (void)prove, (void)file, (void)state, (void)boxes, (void)packed;
#endif
}

/* Two files at a time; of a serial one the other ranks only draw the same numbers. */
static void write_pair(struct prove* prove, struct file* pair, unsigned long long* state,
                       struct box* boxes, int* packed) {
  for (int k = 0; k < 2; k++) {
    open_file(prove, &pair[k], 1);
    for (int d = 0; d < DATASETS; d++) create_dataset(prove, &pair[k], d, state);
  }
  for (int round = 0; round < 3; round++) {
    for (int d = 0; d < DATASETS; d++)
      for (int k = 0; k < 2; k++)
        transfer(prove, &pair[k], &pair[k].datasets[d], state, round * DATASETS + d, 1, boxes,
                 packed);
    if (round == 1) reopen(prove, &pair[0]);
    for (int k = 0; k < 2; k++) {
      int d = (int)prove_below(state, DATASETS);
      write_notes(&pair[k], &pair[k].datasets[d], state);
      grow(&pair[k], &pair[k].datasets[(d + 1) % DATASETS], state);
    }
  }
  reopen(prove, &pair[1]);
  for (int d = 0; d < DATASETS; d++)
    for (int k = 0; k < 2; k++)
      transfer(prove, &pair[k], &pair[k].datasets[d], state, 0, 0, boxes, packed);
  for (int k = 0; k < 2; k++) {
    close_file(&pair[k]);
    read_paged(prove, &pair[k], state, boxes, packed);
  }
}

/* Files `number` and the one behind it. */
static void prove_pair(struct prove* prove, int number, int most_side, struct file* pair,
                       struct box* boxes, int* packed) {
  int parallel = 0;
#ifdef H5_HAVE_PARALLEL
  parallel = number % 8 != 6;
#endif
  unsigned long long state = prove->seed * 1000 + (unsigned long long)number;
  for (int k = 0; k < 2; k++) {
    pair[k].number = number + k;
    pair[k].parallel = parallel;
    pair[k].most_side = most_side;
    snprintf(pair[k].path, sizeof pair[k].path, "%s/proof-%llu-%d.h5", prove->directory,
             prove->seed, number + k);
  }
  if (parallel || prove->rank == 0) write_pair(prove, pair, &state, boxes, packed);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int k = 0; k < 2; k++) {
    compare_file(prove, &pair[k]);
    if (prove->rank == 0) unlink(pair[k].path);
  }
}

/* Small files by ranks that are stopped: for as long as is given, but some in any case. */
static void prove_small(struct prove* prove, struct file* pair, struct box* boxes, int* packed) {
  unsigned long long state = prove->seed ^ 0x5e71e5;
  if (prove->ranks == 1) return; /* that waits for nobody */
  double end = MPI_Wtime() + prove->small_file_seconds;
  prove_begin_stalls(prove, (unsigned)prove_draw(&state));
  for (int i = 0; i < MOST_SMALL; i++) {
    int late = MPI_Wtime() > end;
    MPI_Bcast(&late, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (late && i >= LEAST_SMALL) break;
    prove_pair(prove, prove->files + 2 * i, SMALL_SIDE, pair, boxes, packed);
  }
  prove_end_stalls();
}

void prove_files(struct prove* prove) {
  struct file* pair = calloc(2, sizeof *pair);
  struct box* boxes = calloc((size_t)prove->ranks + MOST_PARTS, sizeof *boxes);
  int* packed = malloc(MOST_VALUES * sizeof(int));
  int* values = malloc(2 * DATASETS * (size_t)MOST_VALUES * sizeof(int));
  if (pair == NULL || boxes == NULL || packed == NULL || values == NULL)
    prove_fail(prove->directory, "no memory");
  for (int k = 0; k < 2; k++)
    for (int d = 0; d < DATASETS; d++)
      pair[k].datasets[d].values = values + (k * DATASETS + d) * MOST_VALUES;
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  for (int number = 0; number < prove->files; number += 2)
    prove_pair(prove, number, MOST_SIDE, pair, boxes, packed);
  prove_small(prove, pair, boxes, packed);
  free(values);
  free(packed);
  free(boxes);
  free(pair);
}
