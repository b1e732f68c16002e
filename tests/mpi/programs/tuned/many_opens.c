/* Two series of small HDF5 files by turns, written by all ranks together.
 *   many_opens FILES SECOND MIXED [AT FROM TO]
 * The other series begins with file number SECOND. MIXED 1: every fifth time a file m.bin is
 * written by all ranks through MPI-IO, opened by the halves of the ranks, by each rank alone, and
 * by rank 0 on a communicator of its own. 2: MPI is
 * started for several threads at once. Before file number AT rank 0 renames FROM to TO. Rank 0
 * prints "FILE romio_cb_write VALUE" of each open file. Ranks call the same file by different
 * names. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(condition)                                             \
  do {                                                              \
    if (!(condition)) {                                             \
      fprintf(stderr, "many_opens:%d: %s\n", __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 9);                                 \
    }                                                               \
  } while (0)

enum { kNumbers = 500 }; /* of each rank, in a file of the first series; twice that in the other */

static void print_hint(hid_t file, const char* name) {
  MPI_File* handle = NULL;
  MPI_Info info;
  char value[257] = "";
  int found = 0;
  MUST(H5Fget_vfd_handle(file, H5P_DEFAULT, (void**)&handle) >= 0 && handle != NULL);
  MUST(MPI_File_get_info(*handle, &info) == MPI_SUCCESS);
  MPI_Info_get(info, "romio_cb_write", 256, value, &found);
  printf("%s romio_cb_write %s\n", name, found ? value : "none");
  MPI_Info_free(&info);
}

static void write_numbers(hid_t file, int rank, int ranks, hsize_t each) {
  int numbers[2 * kNumbers];
  for (hsize_t i = 0; i < each; ++i) numbers[i] = rank * (int)each + (int)i;
  const hsize_t all = each * (hsize_t)ranks, start = each * (hsize_t)rank;
  const hid_t space = H5Screate_simple(1, &all, NULL), memory = H5Screate_simple(1, &each, NULL);
  const hid_t list = H5Pcreate(H5P_DATASET_XFER);
  MUST(H5Pset_dxpl_mpio(list, H5FD_MPIO_COLLECTIVE) >= 0);
  const hid_t dataset =
      H5Dcreate2(file, "x", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  MUST(dataset >= 0);
  MUST(H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &each, NULL) >= 0);
  MUST(H5Dwrite(dataset, H5T_NATIVE_INT, memory, space, list, numbers) >= 0);
  MUST(H5Dclose(dataset) >= 0 && H5Sclose(space) >= 0 && H5Sclose(memory) >= 0);
  MUST(H5Pclose(list) >= 0);
}

static void open_to_read(MPI_Comm comm) {
  MPI_File file;
  MUST(MPI_File_open(comm, "m.bin", MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS);
  MUST(MPI_File_close(&file) == MPI_SUCCESS);
}

static void open_otherwise(int rank, MPI_Comm half, MPI_Comm first) {
  int numbers[kNumbers] = {0};
  MPI_File file;
  MUST(MPI_File_open(MPI_COMM_WORLD, "m.bin", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                     &file) == MPI_SUCCESS);
  MUST(MPI_File_write_at_all(file, (MPI_Offset)rank * (MPI_Offset)sizeof numbers, numbers, kNumbers,
                             MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  MUST(MPI_File_close(&file) == MPI_SUCCESS);
  open_to_read(half);
  open_to_read(MPI_COMM_SELF);
  if (first != MPI_COMM_NULL) open_to_read(first);
}

int main(int argc, char** argv) {
  int rank, ranks;
  MUST(argc == 4 || argc == 7);
  int level = strcmp(argv[3], "2") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  MUST(MPI_Init_thread(&argc, &argv, level, &level) == MPI_SUCCESS);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int files = atoi(argv[1]), begin = atoi(argv[2]), mixed = strcmp(argv[3], "1") == 0;
  const int at = argc == 7 ? atoi(argv[4]) : -1;
  MPI_Comm half, first;
  MUST(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half) == MPI_SUCCESS);
  MUST(MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 0 : MPI_UNDEFINED, rank, &first) == MPI_SUCCESS);
  for (int i = 0; i < files; ++i) {
    if (i == at) {
      if (rank == 0) MUST(rename(argv[5], argv[6]) == 0);
      MPI_Barrier(MPI_COMM_WORLD);
    }
    const int second = i % 2 && i >= begin;
    char name[64];
    snprintf(name, sizeof name, "%s%s%05d.h5", rank == 0 ? "" : "./", second ? "b" : "a", i);
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    MUST(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0);
    const hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    MUST(file >= 0 && H5Pclose(access) >= 0);
    if (rank == 0) print_hint(file, name);
    write_numbers(file, rank, ranks, second ? 2 * kNumbers : kNumbers);
    MUST(H5Fclose(file) >= 0);
    if (mixed && i % 5 == 4) open_otherwise(rank, half, first);
  }
  return MPI_Finalize() == MPI_SUCCESS ? 0 : 1;
}
