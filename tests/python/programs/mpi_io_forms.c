/* MPI-IO in its forms: explicit offsets, individual pointers, strided and
 * subarray views, collective, independent, non-blocking, and a file of each
 * rank alone. Usage: mpirun -n N mpi_io_forms DIR */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, data[4096];

static MPI_File opened(MPI_Comm comm, const char* dir, const char* name) {
  char path[512];
  MPI_File file;
  snprintf(path, sizeof path, "%s/%s", dir, name);
  if (MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) !=
      MPI_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 3);
  return file;
}

static void offsets_and_pointers(const char* dir) {
  MPI_File file = opened(MPI_COMM_WORLD, dir, "plain");
  MPI_Request request;
  for (int i = 0; i < 5; i++)
    MPI_File_write_at(file, (MPI_Offset)(i * size + rank) * 400, data, 100 - i, MPI_INT,
                      MPI_STATUS_IGNORE);
  MPI_File_iwrite_at(file, 100000 + rank * 64, data, 16, MPI_INT, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_File_seek(file, 200000 + rank * 1000, MPI_SEEK_SET);
  MPI_File_write(file, data, 33, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_write(file, data, 5, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_write_at_all(file, 300000 + rank * 4096, data, 1024, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  if (rank == 0) MPI_File_read_at(file, 17, data, 99, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

static void views(const char* dir) {
  MPI_File file = opened(MPI_COMM_WORLD, dir, "viewed");
  MPI_Datatype strided, box;
  MPI_Type_vector(8, 4, 4 * size, MPI_INT, &strided);
  MPI_Type_commit(&strided);
  MPI_File_set_view(file, 64 + rank * 16, MPI_INT, strided, "native", MPI_INFO_NULL);
  MPI_File_write_all(file, data, 32, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_write_at_all(file, 40, data, 20, MPI_INT, MPI_STATUS_IGNORE);
  int sizes[2] = {16 * size, 32}, part[2] = {16, 32}, start[2] = {16 * rank, 0};
  part[1] = 8;
  MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_C, MPI_DOUBLE, &box);
  MPI_Type_commit(&box);
  MPI_File_set_view(file, 8192, MPI_DOUBLE, box, "native", MPI_INFO_NULL);
  MPI_File_write_all(file, data, 128, MPI_DOUBLE, MPI_STATUS_IGNORE);
  MPI_File_read_at(file, 3, data, 7, MPI_DOUBLE, MPI_STATUS_IGNORE);
  MPI_Type_free(&strided);
  MPI_Type_free(&box);
  MPI_File_close(&file);
}

static void alone(const char* dir) {
  char name[32];
  snprintf(name, sizeof name, "own-%d", rank);
  MPI_File file = opened(MPI_COMM_SELF, dir, name);
  for (int i = 0; i <= rank; i++)
    MPI_File_write_at_all(file, i * 50, data, 50, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  offsets_and_pointers(argv[1]);
  views(argv[1]);
  alone(argv[1]);
  MPI_Finalize();
  return 0;
}
