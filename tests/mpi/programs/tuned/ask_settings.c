/* Writes a small file through HDF5's MPI-IO driver, or through MPI_File_open, and prints what
 * the open file really has: its access list and the hints of its MPI_File.
 *   ask_settings FILE [--mpiio | --serial] [--own | --same] [--set-hint NAME=VALUE]… [--reopen]
 * --serial: rank 0 alone writes through HDF5's default driver.
 * --own sets each property of the file's access list itself, some to HDF5's default.
 * --same sets each property to the value that the list holds. Rank 0 prints
 * "name value" lines. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUST(condition)                                               \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "ask_settings:%d: %s\n", __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 9);                                   \
    }                                                                 \
  } while (0)

/* Equal files are to have equal bytes, whatever the second is. Left open until the end. */
static hid_t timeless_list(void) {
  const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(list, 0);
  return list;
}

static int rank, ranks;

static void print_hints(MPI_File file) {
  MPI_Info info;
  MUST(MPI_File_get_info(file, &info) == MPI_SUCCESS);
  int keys = 0;
  MPI_Info_get_nkeys(info, &keys);
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1] = "";
    int found = 0;
    MPI_Info_get_nthkey(info, i, key);
    MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
    if (rank == 0 && found) printf("hint %s %s\n", key, value);
  }
  MPI_Info_free(&info);
}

static void write_mpiio(const char* path, MPI_Info info) {
  MPI_File file;
  MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) ==
       MPI_SUCCESS);
  int values[64];
  for (int i = 0; i < 64; ++i) values[i] = rank * 64 + i;
  MPI_Status status;
  MUST(MPI_File_write_at_all(file, (MPI_Offset)rank * (MPI_Offset)sizeof values, values, 64,
                             MPI_INT, &status) == MPI_SUCCESS);
  print_hints(file);
  MUST(MPI_File_close(&file) == MPI_SUCCESS);
}

static void print_access(hid_t file) {
  hid_t fapl = H5Fget_access_plist(file);
  MUST(fapl >= 0);
  hsize_t threshold = 0, alignment = 0, meta = 0;
  MUST(H5Pget_alignment(fapl, &threshold, &alignment) >= 0);
  MUST(H5Pget_meta_block_size(fapl, &meta) >= 0);
  size_t sieve = 0;
  hbool_t collective = 0;
  MUST(H5Pget_sieve_buf_size(fapl, &sieve) >= 0);
  MUST(H5Pget_coll_metadata_write(fapl, &collective) >= 0);
  void* handle = NULL;
  MUST(H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) >= 0);
  if (rank == 0) {
    printf("alignment %llu,%llu\n", (unsigned long long)threshold, (unsigned long long)alignment);
    printf("meta_block_size %llu\n", (unsigned long long)meta);
    printf("sieve_buf_size %zu\n", sieve);
    printf("coll_metadata_write %s\n", collective ? "enable" : "disable");
  }
  print_hints(*(MPI_File*)handle);
  H5Pclose(fapl);
}

/* Sets properties to the values that the list holds already, as h5py does for every file. */
static void set_what_is_set(hid_t fapl) {
  hsize_t threshold = 0, alignment = 0, meta = 0;
  size_t sieve = 0;
  MUST(H5Pget_alignment(fapl, &threshold, &alignment) >= 0);
  MUST(H5Pget_meta_block_size(fapl, &meta) >= 0 && H5Pget_sieve_buf_size(fapl, &sieve) >= 0);
  MUST(H5Pset_alignment(fapl, threshold, alignment) >= 0);
  MUST(H5Pset_meta_block_size(fapl, meta) >= 0 && H5Pset_sieve_buf_size(fapl, sieve) >= 0);
}

static void write_hdf5(const char* path, MPI_Info info, int own, int same, int reopen) {
  hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
  MUST(H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, info) >= 0);
  if (same) set_what_is_set(fapl);
  if (own) {
    MUST(H5Pset_alignment(fapl, 777, 512) >= 0 && H5Pset_meta_block_size(fapl, 3000) >= 0);
    MUST(H5Pset_sieve_buf_size(fapl, 5000) >= 0 && H5Pset_coll_metadata_write(fapl, 0) >= 0);
    MUST(H5Pset_libver_bounds(fapl, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST) >= 0);
  }
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
  MUST(file >= 0);
  /* The caller's own list must be as it was. */
  hsize_t threshold = 0, alignment = 0;
  MUST(H5Pget_alignment(fapl, &threshold, &alignment) >= 0);
  if (rank == 0)
    printf("own-list %llu,%llu\n", (unsigned long long)threshold, (unsigned long long)alignment);
  hsize_t all = (hsize_t)ranks * 4096, part = 4096, start = (hsize_t)rank * part;
  hid_t space = H5Screate_simple(1, &all, NULL), memory = H5Screate_simple(1, &part, NULL);
  hid_t data =
      H5Dcreate2(file, "data", H5T_NATIVE_INT, space, H5P_DEFAULT, timeless_list(), H5P_DEFAULT);
  MUST(data >= 0);
  MUST(H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &part, NULL) >= 0);
  static int values[4096];
  for (int i = 0; i < 4096; ++i) values[i] = rank * 4096 + i;
  MUST(H5Dwrite(data, H5T_NATIVE_INT, memory, space, H5P_DEFAULT, values) >= 0);
  print_access(file);
  haddr_t offset = H5Dget_offset(data);
  if (rank == 0) printf("offset %llu\n", (unsigned long long)offset);
  H5Dclose(data);
  H5Sclose(space);
  H5Sclose(memory);
  MUST(H5Fclose(file) >= 0);
  if (reopen) {
    file = H5Fopen(path, H5F_ACC_RDWR, fapl);
    MUST(file >= 0);
    if (rank == 0) printf("reopened\n");
    print_access(file);
    MUST(H5Fclose(file) >= 0);
  }
  H5Pclose(fapl);
}

static void write_serial(const char* path) {
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  MUST(file >= 0);
  hsize_t n = 4096;
  static int values[4096];
  hid_t space = H5Screate_simple(1, &n, NULL);
  hid_t data =
      H5Dcreate2(file, "data", H5T_NATIVE_INT, space, H5P_DEFAULT, timeless_list(), H5P_DEFAULT);
  MUST(H5Dwrite(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  MUST(H5Dclose(data) >= 0 && H5Sclose(space) >= 0 && H5Fclose(file) >= 0);
}

int main(int argc, char** argv) {
  MUST(MPI_Init(&argc, &argv) == MPI_SUCCESS);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int mpiio = 0, serial = 0, own = 0, same = 0, reopen = 0;
  MPI_Info info = MPI_INFO_NULL;
  for (int i = 2; i < argc; ++i) {
    if (strcmp(argv[i], "--mpiio") == 0) mpiio = 1;
    if (strcmp(argv[i], "--serial") == 0) serial = 1;
    if (strcmp(argv[i], "--own") == 0) own = 1;
    if (strcmp(argv[i], "--same") == 0) same = 1;
    if (strcmp(argv[i], "--reopen") == 0) reopen = 1;
    if (strcmp(argv[i], "--set-hint") == 0 && i + 1 < argc) {
      char* pair = argv[++i];
      char* equal = strchr(pair, '=');
      MUST(equal != NULL);
      *equal = '\0';
      if (info == MPI_INFO_NULL) MPI_Info_create(&info);
      MPI_Info_set(info, pair, equal + 1);
    }
  }
  if (mpiio)
    write_mpiio(argv[1], info);
  else if (serial && rank == 0)
    write_serial(argv[1]);
  else if (!serial)
    write_hdf5(argv[1], info, own, same, reopen);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  MPI_Finalize();
  return 0;
}
