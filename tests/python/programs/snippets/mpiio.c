/* Around lines of C for MPI-IO: test_snippets.py compiles it with each of them. */
#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* name = argv[argc - 1];
  MPI_Comm comm = MPI_COMM_WORLD;
  const int mode = MPI_MODE_RDWR | MPI_MODE_CREATE, bytes = 8 * 1024, count = 1024;
  int rank, ranks;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_File file;
  if (MPI_File_open(comm, name, mode, MPI_INFO_NULL, &file) != MPI_SUCCESS) MPI_Abort(comm, 2);
  MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL);
  MPI_File_set_size(file, 2 * bytes);
  int fd = open(name, O_RDONLY);
  double *data = calloc(count, sizeof *data), *table = calloc(count, sizeof *table);
  int sizes[2] = {32, 32 * ranks}, parts[2] = {32, 32}, starts[2] = {0, 32 * rank};
  MPI_Datatype part = MPI_DATATYPE_NULL;
  MPI_Status status;
  {
#include "snippet.inc"
  }(void)fd,
      (void)count, (void)bytes, (void)data, (void)table, (void)sizes, (void)parts;
  (void)starts, (void)part, (void)status;
  if (part != MPI_DATATYPE_NULL) MPI_Type_free(&part);
  MPI_File_close(&file);
  MPI_Info_free(&info);
  MPI_Finalize();
  return 0;
}
