/* Writes and reads a file through MPI-IO alone, and prints the hints that the open file has.
 *   mpi_file FILE [NAME=VALUE]…     hints that the program itself sets
 * Rank 0 prints "hint NAME VALUE" lines; every rank checks what it reads. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(condition)                                           \
  do {                                                            \
    if (!(condition)) {                                           \
      fprintf(stderr, "mpi_file:%d: %s\n", __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 9);                               \
    }                                                             \
  } while (0)

enum { kEach = 1000 };

static void print_hints(MPI_File file) {
  static const char* const names[] = {"cb_nodes", "cb_buffer_size", "romio_cb_write",
                                      "romio_ds_write"};
  MPI_Info info;
  MUST(MPI_File_get_info(file, &info) == MPI_SUCCESS);
  for (int i = 0; i < 4; ++i) {
    char value[257] = "";
    int found = 0;
    MPI_Info_get(info, names[i], 256, value, &found);
    if (found) printf("hint %s %s\n", names[i], value);
  }
  MPI_Info_free(&info);
}

int main(int argc, char** argv) {
  int rank, ranks, level;
  MUST(argc >= 2 && MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Info info = MPI_INFO_NULL;
  for (int i = 2; i < argc; ++i) {
    char* const value = strchr(argv[i], '=');
    MUST(value != NULL);
    *value = '\0';
    if (info == MPI_INFO_NULL) MPI_Info_create(&info);
    MPI_Info_set(info, argv[i], value + 1);
  }
  /* A communicator of its own, duplicated and freed: attributes travel and die with it. */
  MPI_Comm comm, copy;
  MUST(MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm) == MPI_SUCCESS);
  MPI_File file;
  MUST(MPI_File_open(comm, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, info, &file) == MPI_SUCCESS);
  MUST(MPI_Comm_dup(comm, &copy) == MPI_SUCCESS);
  if (rank == 0) print_hints(file);
  int values[kEach];
  for (int i = 0; i < kEach; ++i) values[i] = rank * kEach + i;
  MUST(MPI_File_seek(file, (MPI_Offset)rank * (MPI_Offset)sizeof values, MPI_SEEK_SET) ==
       MPI_SUCCESS);
  MUST(MPI_File_write_all(file, values, kEach, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  MUST(MPI_File_close(&file) == MPI_SUCCESS);
  MPI_Comm_free(&comm);

  MUST(MPI_File_open(copy, argv[1], MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS);
  const int other = (rank + 1) % ranks;
  MPI_Status status;
  int count = 0;
  MUST(MPI_File_read_at(file, (MPI_Offset)other * (MPI_Offset)sizeof values, values, kEach, MPI_INT,
                        &status) == MPI_SUCCESS);
  MUST(MPI_Get_count(&status, MPI_INT, &count) == MPI_SUCCESS && count == kEach);
  for (int i = 0; i < kEach; ++i) MUST(values[i] == other * kEach + i);
  MUST(MPI_File_close(&file) == MPI_SUCCESS);
  MPI_Comm_free(&copy);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  MPI_Finalize();
  return 0;
}
