/* agreement_timer FILE COUNT: what presence and agreement cost a parallel program.
 * Creates and closes COUNT files by MPI_File_open, and by H5Fcreate with the MPI-IO driver, on all
 * ranks. Rank 0 prints microseconds: of MPI_Init, of the first MPI_File_open, the medians of the
 * others and of H5Fcreate.
 * Waits for the other ranks before each, so that the slowest rank's way there is not counted. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, by_value);
  return values[count / 2];
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int count = atoi(argv[2]);
  double* mpiio = calloc((size_t)count, sizeof *mpiio);
  double* hdf5 = calloc((size_t)count, sizeof *hdf5);
  if (count < 2 || mpiio == NULL || hdf5 == NULL) return 2;
  struct timespec before, after;
  timespec_get(&before, TIME_UTC);
  MPI_Init(&argc, &argv);
  timespec_get(&after, TIME_UTC);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char raw[4096], formatted[4096];
  snprintf(raw, sizeof raw, "%s.bin", argv[1]);
  snprintf(formatted, sizeof formatted, "%s.h5", argv[1]);
  /* On the world's own communicator nobody would speak after the first open: without a database
   * nothing can be set. */
  MPI_Comm comm;
  if (MPI_Comm_dup(MPI_COMM_WORLD, &comm) != MPI_SUCCESS) return 1;
  hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
  if (H5Pset_fapl_mpio(fapl, comm, MPI_INFO_NULL) < 0) return 1;
  for (int i = 0; i < count; ++i) {
    MPI_File file;
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    if (MPI_File_open(comm, raw, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) !=
        MPI_SUCCESS) {
      return 1;
    }
    mpiio[i] = (MPI_Wtime() - start) * 1e6;
    MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    const hid_t made = H5Fcreate(formatted, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    hdf5[i] = (MPI_Wtime() - start) * 1e6;
    if (made < 0 || H5Fclose(made) < 0) return 1;
  }
  const double init = (double)(after.tv_sec - before.tv_sec) * 1e6 +
                      (double)(after.tv_nsec - before.tv_nsec) * 1e-3;
  if (rank == 0) {
    const double first = mpiio[0];
    printf("%.1f %.1f %.2f %.2f\n", init, first, median(mpiio + 1, count - 1),
           median(hdf5 + 1, count - 1));
  }
  H5Pclose(fapl);
  MPI_Finalize();
  return 0;
}
