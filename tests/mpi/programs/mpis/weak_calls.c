/* weak_calls FILE: as programs do that serve MPIs of several versions. Whether there are calls with
 * large counts it asks by weak references; where there are none it calls those with an int.
 * It says which it makes. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

/* As MPI 4 declares them; an older mpi.h does not. */
extern int MPI_File_write_at_c(MPI_File, MPI_Offset, const void*, MPI_Count, MPI_Datatype,
                               MPI_Status*) __attribute__((weak));
extern int MPI_File_read_at_all_c(MPI_File, MPI_Offset, void*, MPI_Count, MPI_Datatype, MPI_Status*)
    __attribute__((weak));
extern int PMPI_File_iwrite_at_c(MPI_File, MPI_Offset, const void*, MPI_Count, MPI_Datatype,
                                 MPI_Request*) __attribute__((weak));

enum { BYTES = 1 << 16 };

static void check(int result, const char* what) {
  if (result != MPI_SUCCESS) {
    fprintf(stderr, "%s: %d\n", what, result);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

int main(int argc, char** argv) {
  static char data[BYTES], back[BYTES];
  int rank, ranks;
  MPI_File file;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  memset(data, 'a' + rank, BYTES);
  check(
      MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
      "open");
  MPI_Offset offset = (MPI_Offset)rank * BYTES;
  printf("made MPI_File_write_at%s\n", MPI_File_write_at_c ? "_c" : "");
  printf("made MPI_File_iwrite_at%s\n", PMPI_File_iwrite_at_c ? "_c" : "");
  printf("made MPI_File_read_at_all%s\n", MPI_File_read_at_all_c ? "_c" : "");
  if (MPI_File_write_at_c)
    check(MPI_File_write_at_c(file, offset, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE), "write");
  else
    check(MPI_File_write_at(file, offset, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE), "write");
  offset += (MPI_Offset)ranks * BYTES;
  if (PMPI_File_iwrite_at_c)
    check(PMPI_File_iwrite_at_c(file, offset, data, BYTES, MPI_BYTE, &request), "iwrite");
  else
    check(PMPI_File_iwrite_at(file, offset, data, BYTES, MPI_BYTE, &request), "iwrite");
  check(MPI_Wait(&request, MPI_STATUS_IGNORE), "wait");
  check(MPI_File_sync(file), "sync");
  MPI_Barrier(MPI_COMM_WORLD);
  offset = (MPI_Offset)((rank + 1) % ranks) * BYTES;
  if (MPI_File_read_at_all_c)
    check(MPI_File_read_at_all_c(file, offset, back, BYTES, MPI_BYTE, MPI_STATUS_IGNORE), "read");
  else
    check(MPI_File_read_at_all(file, offset, back, BYTES, MPI_BYTE, MPI_STATUS_IGNORE), "read");
  printf("%c%c\n", back[0], back[BYTES - 1]);
  check(MPI_File_close(&file), "close");
  return MPI_Finalize();
}
