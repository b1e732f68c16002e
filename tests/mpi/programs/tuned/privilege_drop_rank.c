// privilege_drop_rank RANK: two ranks write a file by MPI-IO. Then one of them installs a filter
// for its system calls, and both write another one. Each says what cb_buffer_size its files have.
// privilege_drop_rank counter: one process without MPI writes a file by HDF5, forbids itself the
// processor's counter, and writes on and another one.
#include <hdf5.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

enum { kInts = 1000 };

static void write_file(const char* name, int rank) {
  MPI_File file;
  MPI_Info info;
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int data[kInts], found = 0;
  for (int i = 0; i < kInts; i++) data[i] = rank * kInts + i;
  if (MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) !=
      MPI_SUCCESS) {
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  MPI_File_get_info(file, &info);
  MPI_Info_get(info, "cb_buffer_size", MPI_MAX_INFO_VAL, value, &found);
  MPI_Info_free(&info);
  MPI_File_write_at_all(file, (MPI_Offset)rank * (MPI_Offset)sizeof data, data, kInts, MPI_INT,
                        MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  // One line a rank and file, in the order of the ranks.
  for (int turn = 0; turn < 2; turn++) {
    if (turn == rank) {
      printf("%s %d %s\n", name, rank, value);
      fflush(stdout);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

// Without times: HDF5 itself would read the counter for them.
static int write_dataset(hid_t file, const char* name) {
  static double data[kInts];
  const hsize_t size = kInts;
  const hid_t space = H5Screate_simple(1, &size, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
  if (H5Pset_obj_track_times(list, 0) < 0) return 0;
  const hid_t dataset =
      H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, list, H5P_DEFAULT);
  const int good = H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
  return H5Dclose(dataset) >= 0 && H5Pclose(list) >= 0 && H5Sclose(space) >= 0 && good;
}

static int without_counter(void) {
  const hid_t first = H5Fcreate("first.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  if (!write_dataset(first, "before")) return 5;
  if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) != 0) return 6;
  if (!write_dataset(first, "after") || H5Fclose(first) < 0) return 7;
  const hid_t list = H5Pcreate(H5P_FILE_CREATE);
  if (H5Pset_obj_track_times(list, 0) < 0) return 9;
  const hid_t second = H5Fcreate("second.h5", H5F_ACC_TRUNC, list, H5P_DEFAULT);
  return write_dataset(second, "all") && H5Fclose(second) >= 0 ? 0 : 8;
}

int main(int count, char** arguments) {
  if (count > 1 && strcmp(arguments[1], "counter") == 0) return without_counter();
  int rank = 0;
  const int dropping = count > 1 ? atoi(arguments[1]) : 0;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  write_file("first", rank);
  if (rank == dropping) {
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {1, &allow};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
      MPI_Abort(MPI_COMM_WORLD, 4);
    }
  }
  write_file("second", rank);
  MPI_Finalize();
  return 0;
}
