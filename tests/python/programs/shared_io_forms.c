/* MPI-IO through shared file pointers: each for itself, in the order of ranks, begun and completed,
 * under strided views. Usage: mpirun -n N shared_io_forms DIR */
#include <mpi.h>
#include <stdio.h>

static int rank, size, data[4096];

static MPI_File opened(const char* dir, const char* name) {
  char path[512];
  MPI_File file;
  snprintf(path, sizeof path, "%s/%s", dir, name);
  if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) !=
      MPI_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 3);
  return file;
}

static void plain(const char* dir) {
  MPI_File file = opened(dir, "plain");
  MPI_Request request;
  for (int i = 0; i < 4; i++)
    MPI_File_write_shared(file, data, 10 + 3 * rank + i, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_write_ordered(file, data, 100 * (rank + 1), MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_iwrite_shared(file, data, 21 + rank, MPI_CHAR, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_File_write_ordered_begin(file, data, 7 + rank, MPI_CHAR);
  MPI_File_write_ordered_end(file, data, MPI_STATUS_IGNORE);
  MPI_File_seek_shared(file, 16, MPI_SEEK_SET);
  MPI_File_read_ordered(file, data, rank == 0 ? 0 : 50, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_read_shared(file, data, 30, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

static void viewed(const char* dir) {
  MPI_File file = opened(dir, "viewed");
  MPI_Datatype strided, box;
  MPI_Type_vector(4, 8, 16, MPI_INT, &strided);
  MPI_Type_commit(&strided);
  MPI_File_set_view(file, 64, MPI_INT, strided, "native", MPI_INFO_NULL);
  for (int i = 0; i < 3; i++)
    MPI_File_write_shared(file, data, 5 + 8 * rank, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_write_ordered(file, data, 40, MPI_INT, MPI_STATUS_IGNORE);
  int sizes[2] = {16, 32}, part[2] = {4, 8}, start[2] = {3, 5};
  MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_C, MPI_DOUBLE, &box);
  MPI_Type_commit(&box);
  MPI_File_set_view(file, 8192, MPI_DOUBLE, box, "native", MPI_INFO_NULL);
  MPI_File_write_shared(file, data, 11, MPI_DOUBLE, MPI_STATUS_IGNORE);
  MPI_File_write_ordered(file, data, 19, MPI_DOUBLE, MPI_STATUS_IGNORE);
  MPI_Type_free(&strided);
  MPI_Type_free(&box);
  MPI_File_close(&file);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  plain(argv[1]);
  viewed(argv[1]);
  MPI_Finalize();
  return 0;
}
