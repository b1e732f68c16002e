/* What H5Tuner got wrong, done by a program that says what it met. One case a run; rank 0 prints
 * "name value" lines.
 *   h5tuner_faults lists|many-COUNT|drivers|missing|file FILE */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUST(condition)                                                 \
  do {                                                                  \
    if (!(condition)) {                                                 \
      fprintf(stderr, "h5tuner_faults:%d: %s\n", __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 9);                                     \
    }                                                                   \
  } while (0)

enum { kRows = 8192 };
static int rank, ranks;

static hid_t parallel_list(void) {
  hid_t list = H5Pcreate(H5P_FILE_ACCESS);
  MUST(list >= 0 && H5Pset_fapl_mpio(list, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0);
  return list;
}

static void write_rows(hid_t file, hid_t dcpl) {
  hsize_t all = (hsize_t)ranks * kRows, part = kRows, start = (hsize_t)rank * kRows;
  hid_t space = H5Screate_simple(1, &all, NULL), memory = H5Screate_simple(1, &part, NULL);
  hid_t set = H5Dcreate2(file, "data", H5T_NATIVE_INT, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
  MUST(set >= 0);
  MUST(H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &part, NULL) >= 0);
  static int values[kRows];
  for (int i = 0; i < kRows; ++i) values[i] = 0x5a000000 + rank * kRows + i;
  hid_t how = H5Pcreate(H5P_DATASET_XFER);
  MUST(H5Pset_dxpl_mpio(how, H5FD_MPIO_COLLECTIVE) >= 0);
  MUST(H5Dwrite(set, H5T_NATIVE_INT, memory, space, how, values) >= 0);
  H5Pclose(how);
  hid_t kept = H5Dget_create_plist(set);
  if (rank == 0) printf("layout %d\n", (int)H5Pget_layout(kept));
  H5Pclose(kept);
  H5Dclose(set);
  H5Sclose(space);
  H5Sclose(memory);
}

static herr_t print_property(hid_t list, const char* name, void* unused) {
  (void)unused;
  unsigned char bytes[64] = {0};
  size_t size = 0;
  /* Those of the driver hold pointers. */
  if (strncmp(name, "driver", 6) == 0 || H5Pget_size(list, name, &size) < 0 || size > 8) return 0;
  MUST(H5Pget(list, name, bytes) >= 0);
  if (rank == 0) {
    printf("%s ", name);
    for (size_t i = 0; i < size; ++i) printf("%02x", bytes[i]);
    printf("\n");
  }
  return 0;
}

static void print_hints(hid_t fapl) {
  MPI_Comm comm;
  MPI_Info info;
  int keys = 0;
  MUST(H5Pget_fapl_mpio(fapl, &comm, &info) >= 0);
  if (info != MPI_INFO_NULL) MPI_Info_get_nkeys(info, &keys);
  if (rank == 0) printf("hints %d\n", keys);
  MPI_Comm_free(&comm);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
}

/* What the program's lists hold after they were used. */
static void lists(const char* path) {
  hid_t fapl = parallel_list(), dcpl = H5Pcreate(H5P_DATASET_CREATE);
  hid_t copy = H5Pcopy(dcpl);
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
  MUST(file >= 0);
  write_rows(file, dcpl);
  MUST(H5Fclose(file) >= 0);
  H5Piterate(fapl, NULL, print_property, NULL);
  print_hints(fapl);
  if (rank == 0) printf("same %d\n", H5Pequal(dcpl, copy) > 0);
  H5Pclose(copy);
  H5Pclose(fapl);
  H5Pclose(dcpl);
}

static long resident_kib(void) {
  char line[256];
  long kib = 0;
  FILE* status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL)
    if (sscanf(line, "VmRSS: %ld", &kib) == 1) break;
  if (status != NULL) fclose(status);
  return kib;
}

/* A list that is not closed holds a communicator, of which MPICH has some 2,000. */
static void many(const char* path, int count) {
  hid_t fapl = parallel_list();
  long before = 0;
  for (int i = 0; i < count; ++i) {
    char name[512];
    snprintf(name, sizeof name, "%s.%d", path, i);
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    MUST(file >= 0);
    MUST(H5Fclose(file) >= 0);
    if (rank == 0) MUST(unlink(name) == 0);
    if (i == 1000) before = resident_kib();
  }
  if (rank == 0) printf("grew_kib %ld\n", resident_kib() - before);
  H5Pclose(fapl);
}

static void one_driver(const char* name, const char* path, hid_t fapl) {
  char own[512];
  snprintf(own, sizeof own, "%s.%s.%d", path, name, rank);
  if (strcmp(name, "family") == 0) snprintf(own, sizeof own, "%s.%%d.%d", path, rank);
  hid_t file = H5Fcreate(own, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
  hsize_t n = 16;
  int values[16] = {1, 2, 3};
  herr_t wrote = -1;
  if (file >= 0) {
    hid_t space = H5Screate_simple(1, &n, NULL);
    hid_t set = H5Dcreate2(file, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    wrote = H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(set);
    H5Sclose(space);
    MUST(H5Fclose(file) >= 0);
  }
  if (rank == 0) printf("%s %s\n", name, file >= 0 && wrote >= 0 ? "good" : "failed");
  if (fapl != H5P_DEFAULT) H5Pclose(fapl);
}

static void drivers(const char* path) {
  one_driver("default", path, H5P_DEFAULT);
  hid_t list = H5Pcreate(H5P_FILE_ACCESS);
  MUST(H5Pset_fapl_core(list, 65536, 1) >= 0);
  one_driver("core", path, list);
  list = H5Pcreate(H5P_FILE_ACCESS);
  MUST(H5Pset_fapl_family(list, 1 << 20, H5P_DEFAULT) >= 0);
  one_driver("family", path, list);
  list = H5Pcreate(H5P_FILE_ACCESS);
  MUST(H5Pset_fapl_stdio(list) >= 0);
  one_driver("stdio", path, list);
  list = H5Pcreate(H5P_FILE_ACCESS);
  MUST(H5Pset_fapl_split(list, ".m", H5P_DEFAULT, ".r", H5P_DEFAULT) >= 0);
  one_driver("split", path, list);
}

static herr_t count_frame(unsigned n, const H5E_error2_t* error, void* count) {
  (void)n;
  (void)error;
  ++*(int*)count;
  return 0;
}

/* A file that is not there: the program's own error, as deep as ever. */
static void missing(const char* path) {
  hid_t fapl = parallel_list();
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, fapl);
  int frames = 0;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, count_frame, &frames);
  if (rank == 0) printf("opened %d\nframes %d\n", file >= 0, frames);
  H5Pclose(fapl);
}

static void one_file(const char* path) {
  hid_t fapl = parallel_list();
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
  MUST(file >= 0);
  write_rows(file, H5P_DEFAULT);
  MUST(H5Fclose(file) >= 0);
  H5Pclose(fapl);
}

int main(int argc, char** argv) {
  MUST(MPI_Init(&argc, &argv) == MPI_SUCCESS && argc == 3);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (strcmp(argv[1], "lists") == 0)
    lists(argv[2]);
  else if (strncmp(argv[1], "many-", 5) == 0)
    many(argv[2], atoi(argv[1] + 5));
  else if (strcmp(argv[1], "drivers") == 0)
    drivers(argv[2]);
  else if (strcmp(argv[1], "missing") == 0)
    missing(argv[2]);
  else
    one_file(argv[2]);
  MPI_Finalize();
  return 0;
}
