/* A series of small HDF5 files of one process, and what may be open beside them.
 *   series_files FILES [keep|log|fail|end|change|kinds|kinds-first]
 * keep: another HDF5 file is open and written meanwhile; log: a line is written to log.txt by
 * write(2) while each file is open; fail: before each file one is opened that is not there;
 * end: MPI, too, ends in the handler of the error that the file behind the last one is not there.
 * kinds, kinds-first: in each step six files, which a number behind or before the step's tells
 * apart. change: the first file gets two more datasets, each in an opening of its own, before at
 * the end the fourth file and the last but one are opened again and read. */
#include <fcntl.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUST(condition)                                               \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "series_files:%d: %s\n", __LINE__, #condition); \
      exit(1);                                                        \
    }                                                                 \
  } while (0)

enum { kNumbers = 100 };

static void write_dataset(hid_t file, const char* name, int first) {
  const hsize_t dims = kNumbers;
  int numbers[kNumbers];
  for (int i = 0; i < kNumbers; ++i) numbers[i] = first + i;
  const hid_t space = H5Screate_simple(1, &dims, NULL);
  const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  MUST(H5Pset_obj_track_times(list, 0) >= 0); /* equal files have equal bytes */
  const hid_t dataset =
      H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, list, H5P_DEFAULT);
  MUST(dataset >= 0);
  MUST(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers) >= 0);
  MUST(H5Dclose(dataset) >= 0 && H5Sclose(space) >= 0 && H5Pclose(list) >= 0);
}

static void read_back(int number) {
  char name[64];
  int numbers[kNumbers];
  snprintf(name, sizeof name, "step%05d.h5", number);
  const hid_t file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t dataset = H5Dopen2(file, "/x", H5P_DEFAULT);
  MUST(dataset >= 0);
  MUST(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers) >= 0);
  for (int i = 0; i < kNumbers; ++i) MUST(numbers[i] == number + i);
  MUST(H5Dclose(dataset) >= 0 && H5Fclose(file) >= 0);
}

static herr_t end_of_run(hid_t stack, void* nothing) {
  (void)stack;
  (void)nothing;
  MPI_Finalize();
  exit(0);
}

int main(int argc, char** argv) {
  MUST(argc == 2 || argc == 3);
  const int files = atoi(argv[1]);
  const char* const beside = argc == 3 ? argv[2] : "";
  hid_t kept = -1;
  int log = -1;
  if (strcmp(beside, "end") == 0) MUST(MPI_Init(&argc, &argv) == 0);
  if (strcmp(beside, "keep") == 0) {
    kept = H5Fcreate("kept.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    MUST(kept >= 0);
  } else if (strcmp(beside, "log") == 0) {
    log = open("log.txt", O_CREAT | O_TRUNC | O_WRONLY, 0600);
    MUST(log >= 0);
  }
  for (int i = 0; i < files && strncmp(beside, "kinds", 5) == 0; ++i) {
    for (int kind = 0; kind < 6; ++kind) {
      char name[64];
      snprintf(name, sizeof name, beside[5] == '\0' ? "out_%2$05d_h%1$d.h5" : "out_h%d_%05d.h5",
               kind, i);
      const hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
      MUST(file >= 0);
      write_dataset(file, "x", i);
      MUST(H5Fclose(file) >= 0);
    }
  }
  if (strncmp(beside, "kinds", 5) == 0) return 0;
  for (int i = 0; i < files; ++i) {
    char name[64];
    if (strcmp(beside, "fail") == 0) {
      snprintf(name, sizeof name, "none%05d.h5", i);
      H5E_BEGIN_TRY {
        MUST(H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT) < 0);
      }
      H5E_END_TRY;
    }
    snprintf(name, sizeof name, "step%05d.h5", i);
    const hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    MUST(file >= 0);
    write_dataset(file, "x", i);
    if (kept >= 0) {
      snprintf(name, sizeof name, "y%d", i);
      write_dataset(kept, name, i);
    }
    if (log >= 0) MUST(write(log, "a step\n", 7) == 7);
    MUST(H5Fclose(file) >= 0);
  }
  if (kept >= 0) MUST(H5Fclose(kept) >= 0);
  if (log >= 0) MUST(close(log) == 0);
  for (int i = 0; i < 2 && strcmp(beside, "change") == 0; ++i) {
    const hid_t file = H5Fopen("step00000.h5", H5F_ACC_RDWR, H5P_DEFAULT);
    MUST(file >= 0);
    write_dataset(file, i == 0 ? "y" : "z", i);
    MUST(H5Fclose(file) >= 0);
  }
  read_back(3);
  read_back(files - 2);
  if (strcmp(beside, "end") == 0) {
    MUST(H5Eset_auto2(H5E_DEFAULT, end_of_run, NULL) >= 0);
    read_back(files);
    MUST(0);
  }
  return 0;
}
