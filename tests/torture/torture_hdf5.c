/* The HDF5 commands of torture_program. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "torture_program.h"

static int values[MOST_ELEMENTS];

void quiet_hdf5(void) {
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}
void raise_segv(void) {
  raise(SIGSEGV);
}

/* F NAME COMM INFO FLAGS, flags: trunc, excl, rdwr, rdonly, or own (trunc with an alignment) */
static void open_file(int create, char** words) {
  struct file* file = &files[atoi(words[0])];
  char name[256];
  own_name(words[1], words[2], name, sizeof name);
  const MPI_Comm comm = communicator(words[2]);
  MPI_Info info = info_of(words[3]);
  hid_t list = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(list, comm, info);
  if (strcmp(words[4], "own") == 0) H5Pset_alignment(list, 100, 512);
  if (create)
    file->hdf5 = H5Fcreate(name, strcmp(words[4], "excl") == 0 ? H5F_ACC_EXCL : H5F_ACC_TRUNC,
                           H5P_DEFAULT, list);
  else
    file->hdf5 = H5Fopen(name, strcmp(words[4], "rdwr") == 0 ? H5F_ACC_RDWR : H5F_ACC_RDONLY, list);
  note_result(file->hdf5 >= 0);
  MPI_Comm_rank(comm, &file->me);
  MPI_Comm_size(comm, &file->all);
  H5Pclose(list);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
}

/* F NAME: by one rank alone through the default driver */
static void open_serial(char** words) {
  struct file* file = &files[atoi(words[0])];
  char name[256];
  snprintf(name, sizeof name, "%s.s%d", words[1], rank);
  file->hdf5 = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  note_result(file->hdf5 >= 0);
  file->me = 0;
  file->all = 1;
}

/* F D NAME LAYOUT ROWS COLUMNS, layout: plain, filled, chunk, gzip, grow */
static void make_set(char** words) {
  struct set* set = &sets[atoi(words[1])];
  set->file = atoi(words[0]);
  set->salt = atoi(words[1]);
  set->rows = strtoull(words[4], NULL, 10);
  set->columns = strtoull(words[5], NULL, 10);
  const hsize_t size[2] = {set->rows, set->columns};
  const hsize_t most[2] = {H5S_UNLIMITED, set->columns};
  const hsize_t chunk[2] = {set->rows < 8 ? set->rows : 8, (set->columns + 1) / 2};
  const int grows = strcmp(words[3], "grow") == 0;
  hid_t list = H5P_DEFAULT, space = H5Screate_simple(2, size, grows ? most : NULL);
  if (strcmp(words[3], "filled") == 0) {
    const int nothing = -7;
    list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_fill_value(list, H5T_NATIVE_INT, &nothing);
  } else if (strcmp(words[3], "plain") != 0) {
    list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(list, 2, chunk);
    if (strcmp(words[3], "gzip") == 0) H5Pset_deflate(list, 1);
  }
  set->id = H5Dcreate2(files[set->file].hdf5, words[2], H5T_NATIVE_INT, space, H5P_DEFAULT, list,
                       H5P_DEFAULT);
  note_result(set->id >= 0);
  if (list != H5P_DEFAULT) H5Pclose(list);
  H5Sclose(space);
}

/* F D NAME */
static void open_set(char** words) {
  struct set* set = &sets[atoi(words[1])];
  set->file = atoi(words[0]);
  set->salt = atoi(words[1]);
  set->id = H5Dopen2(files[set->file].hdf5, words[2], H5P_DEFAULT);
  note_result(set->id >= 0);
  hsize_t size[2] = {0, 0};
  hid_t space = H5Dget_space(set->id);
  H5Sget_simple_extent_dims(space, size, NULL);
  H5Sclose(space);
  set->rows = size[0];
  set->columns = size[1];
}

/* Independent transfers of those that do not take part are not called at all. */
static void transfer(struct set* set, int write, int collective, const char* shape,
                     const char* who) {
  const struct file* file = &files[set->file];
  const int here = takes_part(who, file->me, file->all);
  if (!here && !collective) return;
  struct part part = part_of(shape, file->me, file->all, set->rows, set->columns);
  if (!here) part.rows = 0;
  const hsize_t n = part.rows * part.columns;
  if (n > MOST_ELEMENTS) abort();
  hid_t space = H5Dget_space(set->id),
        memory = H5Screate_simple(1, n == 0 ? &(hsize_t){1} : &n, NULL);
  if (n == 0) {
    H5Sselect_none(space);
    H5Sselect_none(memory);
  } else {
    const hsize_t start[2] = {part.first_row, part.first_column}, step[2] = {part.row_step, 1};
    const hsize_t count[2] = {part.rows, part.columns};
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, step, count, NULL);
  }
  hid_t list = H5Pcreate(H5P_DATASET_XFER);
  if (collective) H5Pset_dxpl_mpio(list, H5FD_MPIO_COLLECTIVE);
  if (write) {
    fill(&part, set->columns, set->salt, values);
    note_result(H5Dwrite(set->id, H5T_NATIVE_INT, memory, space, list, values) >= 0);
  } else {
    memset(values, 0x55, (size_t)n * sizeof *values);
    note_result(H5Dread(set->id, H5T_NATIVE_INT, memory, space, list, values) >= 0);
    note_bytes(values, (size_t)n * sizeof *values);
  }
  H5Pclose(list);
  H5Sclose(space);
  H5Sclose(memory);
}

/* SHAPE D D D: independent, each rank begins with another dataset */
static void rotate(char** words) {
  for (int i = 0; i < 3; ++i) {
    transfer(&sets[atoi(words[1 + (i + rank) % 3])], 1, 0, words[0], "all");
  }
}

/* D ROWS: collective */
static void grow(char** words) {
  struct set* set = &sets[atoi(words[0])];
  set->rows = strtoull(words[1], NULL, 10);
  const hsize_t size[2] = {set->rows, set->columns};
  note_result(H5Dset_extent(set->id, size) >= 0);
}

/* F NAME */
static void make_attribute(char** words) {
  hid_t space = H5Screate(H5S_SCALAR);
  hid_t attribute = H5Acreate2(files[atoi(words[0])].hdf5, words[1], H5T_NATIVE_INT, space,
                               H5P_DEFAULT, H5P_DEFAULT);
  const int value = (int)strlen(words[1]) * 1001;
  note_result(attribute >= 0 && H5Awrite(attribute, H5T_NATIVE_INT, &value) >= 0);
  H5Aclose(attribute);
  H5Sclose(space);
}

int run_hdf5(const char* command, char** words) {
  if (strcmp(command, "create") == 0)
    open_file(1, words);
  else if (strcmp(command, "open") == 0)
    open_file(0, words);
  else if (strcmp(command, "serial") == 0)
    open_serial(words);
  else if (strcmp(command, "dataset") == 0)
    make_set(words);
  else if (strcmp(command, "dopen") == 0)
    open_set(words);
  else if (strcmp(command, "write") == 0 || strcmp(command, "read") == 0) /* D MODE SHAPE WHO */
    transfer(&sets[atoi(words[0])], command[0] == 'w', strcmp(words[1], "coll") == 0, words[2],
             words[3]);
  else if (strcmp(command, "rotate") == 0)
    rotate(words);
  else if (strcmp(command, "grow") == 0)
    grow(words);
  else if (strcmp(command, "attribute") == 0)
    make_attribute(words);
  else if (strcmp(command, "flush") == 0)
    note_result(H5Fflush(files[atoi(words[0])].hdf5, H5F_SCOPE_GLOBAL) >= 0);
  else if (strcmp(command, "dclose") == 0)
    note_result(H5Dclose(sets[atoi(words[0])].id) >= 0);
  else if (strcmp(command, "close") == 0)
    note_result(H5Fclose(files[atoi(words[0])].hdf5) >= 0);
  else
    return 0;
  return 1;
}

static herr_t dump_attribute(hid_t object, const char* name, const H5A_info_t* info, void* data) {
  (void)info;
  (void)data;
  hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
  int value = 0;
  H5Aread(attribute, H5T_NATIVE_INT, &value);
  printf(" @%s=%d", name, value);
  H5Aclose(attribute);
  return 0;
}

static herr_t dump_object(hid_t group, const char* name, const H5O_info_t* info, void* data) {
  (void)data;
  if (info->type != H5O_TYPE_DATASET) return 0;
  hid_t set = H5Dopen2(group, name, H5P_DEFAULT), space = H5Dget_space(set);
  hsize_t size[2] = {0, 0};
  H5Sget_simple_extent_dims(space, size, NULL);
  const size_t n = (size_t)(size[0] * size[1]);
  int* all = malloc((n + 1) * sizeof *all);
  uint64_t hash = 0xcbf29ce484222325u;
  const herr_t read = H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, all);
  for (size_t i = 0; i < n; ++i) hash = (hash ^ (unsigned)all[i]) * 0x100000001b3u;
  printf(" %s[%llu,%llu]=%s%016llx", name, (unsigned long long)size[0], (unsigned long long)size[1],
         read < 0 ? "unreadable" : "", (unsigned long long)hash);
  free(all);
  H5Sclose(space);
  H5Dclose(set);
  return 0;
}

int dump_files(int count, char** names) {
  quiet_hdf5();
  for (int i = 0; i < count; ++i) {
    printf("%s", names[i]);
    hid_t file = H5Fopen(names[i], H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) {
      printf(" unreadable");
    } else {
      hsize_t at = 0;
      H5Aiterate2(file, H5_INDEX_NAME, H5_ITER_INC, &at, dump_attribute, NULL);
      H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, dump_object, NULL);
      H5Fclose(file);
    }
    printf("\n");
  }
  return 0;
}
