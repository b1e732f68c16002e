/* file_places FILE: one rank writes FILE.end from the file's end on, and FILE.external32 in that
 * representation. Prints "external32 BYTES", the second file's size; -1: this MPI cannot write it.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static MPI_File opened(const char* path, const char* more, int mode) {
  char name[4096];
  MPI_File file;
  snprintf(name, sizeof name, "%s%s", path, more);
  if (MPI_File_open(MPI_COMM_SELF, name, mode, MPI_INFO_NULL, &file) != MPI_SUCCESS) {
    fprintf(stderr, "%s cannot be opened\n", name);
    MPI_Abort(MPI_COMM_WORLD, 9);
  }
  return file;
}

static void put(MPI_File file, char letter, int bytes) {
  char data[100];
  memset(data, letter, sizeof data);
  MPI_File_write(file, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_File file = opened(argv[1], ".end", MPI_MODE_CREATE | MPI_MODE_WRONLY);
  put(file, 'a', 100);
  MPI_File_close(&file);
  file = opened(argv[1], ".end", MPI_MODE_WRONLY | MPI_MODE_APPEND);
  put(file, 'b', 10);
  MPI_File_seek(file, -5, MPI_SEEK_END);
  put(file, 'c', 11);
  MPI_File_close(&file);

  long numbers[50];
  MPI_Offset size = -1;
  for (int i = 0; i < 50; ++i) numbers[i] = i;
  file = opened(argv[1], ".external32", MPI_MODE_CREATE | MPI_MODE_WRONLY);
  if (MPI_File_set_view(file, 0, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL) == MPI_SUCCESS &&
      MPI_File_write(file, numbers, 50, MPI_LONG, MPI_STATUS_IGNORE) == MPI_SUCCESS) {
    MPI_File_get_size(file, &size);
  }
  printf("external32 %lld\n", (long long)size);
  MPI_File_close(&file);
  /* The handle is free for another file, which is no such one. */
  file = opened(argv[1], ".native", MPI_MODE_CREATE | MPI_MODE_WRONLY);
  MPI_File_write(file, numbers, 50, MPI_LONG, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  MPI_Finalize();
  return argc != 2;
}
