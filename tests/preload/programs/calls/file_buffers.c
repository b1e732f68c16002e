/* What HDF5 keeps of a file in memory, as a program finds it.
 *   file_buffers make FILE [paged]     a file of one dataset, in pages or not
 *   file_buffers read FILE [WORDS]     its rows, compared; "name value" lines of what the open file
 *                                      has, and of how often the program's error handler was called
 * WORDS of read: write (opened to be written), own (the program sets all three itself), twice (it
 * is opened a second time meanwhile), other (and with a list of the program's own, that evicts
 * nothing; prints whether it could be) and mpio. */
#include <hdf5.h>
#include <stdio.h>
#include <string.h>
#ifdef H5_HAVE_PARALLEL
#include <mpi.h>
#endif

#define MUST(condition)                                               \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "file_buffers:%d: %s\n", __LINE__, #condition); \
      return 1;                                                       \
    }                                                                 \
  } while (0)

enum { kSide = 300 };
static int values[kSide][kSide];
static int failures;

static herr_t count_failure(hid_t stack, void* data) {
  (void)stack, (void)data;
  ++failures;
  return 0;
}

static int value_at(int row, int column) {
  return 7 * row * kSide + 3 * column + 1;
}

static int make(const char* path, int paged) {
  const hsize_t dims[2] = {kSide, kSide};
  const hid_t fcpl = H5Pcreate(H5P_FILE_CREATE), space = H5Screate_simple(2, dims, NULL);
  if (paged) MUST(H5Pset_file_space_strategy(fcpl, H5F_FSPACE_STRATEGY_PAGE, 0, 1) >= 0);
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, fcpl, H5P_DEFAULT);
  const hid_t data =
      H5Dcreate2(file, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  MUST(file >= 0 && data >= 0);
  for (int i = 0; i < kSide; ++i)
    for (int k = 0; k < kSide; ++k) values[i][k] = value_at(i, k);
  MUST(H5Dwrite(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  H5Dclose(data);
  H5Sclose(space);
  H5Pclose(fcpl);
  return H5Fclose(file) < 0;
}

/* Every seventh row, some columns of it at a time, and then the others. */
static int read_rows(hid_t file) {
  const hid_t data = H5Dopen2(file, "d", H5P_DEFAULT), space = H5Dget_space(data);
  const hsize_t count[2] = {1, 20}, length = 20;
  const hid_t memory = H5Screate_simple(1, &length, NULL);
  MUST(data >= 0);
  for (int i = 0; i < kSide * 7; i += 7) {
    const hsize_t start[2] = {(hsize_t)(i % kSide), (hsize_t)(i * 11 % (kSide - 20))};
    int got[20];
    MUST(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0);
    MUST(H5Dread(data, H5T_NATIVE_INT, memory, space, H5P_DEFAULT, got) >= 0);
    for (int k = 0; k < 20; ++k) MUST(got[k] == value_at((int)start[0], (int)start[1] + k));
  }
  H5Sclose(memory);
  H5Sclose(space);
  return H5Dclose(data) < 0;
}

static int tell(hid_t file) {
  const hid_t list = H5Fget_access_plist(file);
  size_t page = 0, cache = 0, clean = 0, held = 0;
  unsigned metadata = 0, raw = 0;
  hbool_t evicts = 0;
  int entries = 0;
  MUST(H5Pget_page_buffer_size(list, &page, &metadata, &raw) >= 0);
  MUST(H5Pget_evict_on_close(list, &evicts) >= 0);
  MUST(H5Fget_mdc_size(file, &cache, &clean, &held, &entries) >= 0);
  printf("page_buffer %zu\nmdc_size %zu\nevict_on_close %s\n", page, cache,
         evicts ? "enable" : "disable");
  return H5Pclose(list) < 0;
}

int main(int argc, char** argv) {
  int writes = 0, own = 0, twice = 0, other = 0, mpio = 0;
  if (argc < 3) return 2;
#ifdef H5_HAVE_PARALLEL
  MPI_Init(&argc, &argv);
#endif
  for (int i = 3; i < argc; ++i) {
    writes |= strcmp(argv[i], "write") == 0;
    own |= strcmp(argv[i], "own") == 0;
    twice |= strcmp(argv[i], "twice") == 0;
    other |= strcmp(argv[i], "other") == 0;
    mpio |= strcmp(argv[i], "mpio") == 0;
  }
  if (strcmp(argv[1], "make") == 0) {
    MUST(make(argv[2], argc > 3) == 0);
  } else {
    hid_t list = H5P_DEFAULT;
    H5Eset_auto2(H5E_DEFAULT, count_failure, NULL);
    if (own) {
      H5AC_cache_config_t config;
      config.version = H5AC__CURR_CACHE_CONFIG_VERSION;
      list = H5Pcreate(H5P_FILE_ACCESS);
      MUST(H5Pset_page_buffer_size(list, 0, 0, 0) >= 0);
      H5Pset_evict_on_close(list, 0);
      MUST(H5Pget_mdc_config(list, &config) >= 0);
      config.initial_size = 1572864;
      MUST(H5Pset_mdc_config(list, &config) >= 0);
    }
#ifdef H5_HAVE_PARALLEL
    if (mpio) {
      list = H5Pcreate(H5P_FILE_ACCESS);
      MUST(H5Pset_fapl_mpio(list, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0);
    }
#else
    (void)mpio;
#endif
    const hid_t file = H5Fopen(argv[2], writes ? H5F_ACC_RDWR : H5F_ACC_RDONLY, list);
    MUST(file >= 0);
    MUST(tell(file) == 0);
    MUST(read_rows(file) == 0);
    if (twice) {
      const hid_t second = H5Fopen(argv[2], H5F_ACC_RDONLY, H5P_DEFAULT);
      MUST(second >= 0);
      MUST(read_rows(second) == 0);
      H5Fclose(second);
    }
    if (other) {
      const hid_t strict = H5Pcreate(H5P_FILE_ACCESS);
      H5Pset_evict_on_close(strict, 0);
      const hid_t second = H5Fopen(argv[2], H5F_ACC_RDONLY, strict);
      printf("other %s\n", second >= 0 ? "opened" : "refused");
      if (second >= 0) H5Fclose(second);
      failures = 0;
      H5Pclose(strict);
    }
    if (list != H5P_DEFAULT) H5Pclose(list);
    MUST(H5Fclose(file) >= 0);
    printf("failures %d\n", failures);
  }
#ifdef H5_HAVE_PARALLEL
  MPI_Finalize();
#endif
  return 0;
}
