/* Writes and reads a file by the pointer that all ranks share, in their order: ordered_calls FILE
 * [split] [NAME=VALUE …], hints of the program's own. Each rank but the first is late for each
 * call. Prints how many bytes were wrong of writes and of reads. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STEPS = 20, BYTES = 64 };

static int rank, ranks, split;

static unsigned char mark(int step) {
  return (unsigned char)(1 + step * ranks + rank);
}

static int wrong(const unsigned char* got, int step) {
  int n = 0;
  for (int i = 0; i < BYTES; i++) n += got[i] != mark(step);
  return n;
}

static MPI_Offset own_place(int step) {
  return (MPI_Offset)(step * ranks + rank) * BYTES;
}

static void settle(MPI_File file) {
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
  MPI_Barrier(MPI_COMM_WORLD);
}

static MPI_File opened(const char* path, MPI_Info info) {
  MPI_File file;
  if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) != 0)
    MPI_Abort(MPI_COMM_WORLD, 1);
  return file;
}

int main(int argc, char** argv) {
  unsigned char bytes[BYTES];
  MPI_Status status;
  MPI_Info info;
  int found[2] = {0, 0}, all[2] = {0, 0};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Info_create(&info);
  for (int i = 2; i < argc; i++) {
    char* equals = strchr(argv[i], '=');
    if (equals == NULL) {
      split = strcmp(argv[i], "split") == 0;
      continue;
    }
    *equals = '\0';
    MPI_Info_set(info, argv[i], equals + 1);
  }
  MPI_File file = opened(argv[1], info);
  for (int step = 0; step < STEPS; step++) {
    if (rank > 0) usleep(2000);
    memset(bytes, mark(step), BYTES);
    if (split) {
      MPI_File_write_ordered_begin(file, bytes, BYTES, MPI_BYTE);
      MPI_File_write_ordered_end(file, bytes, &status);
    } else {
      MPI_File_write_ordered(file, bytes, BYTES, MPI_BYTE, &status);
    }
  }
  settle(file);
  for (int step = 0; step < STEPS; step++) {
    MPI_File_read_at(file, own_place(step), bytes, BYTES, MPI_BYTE, &status);
    found[0] += wrong(bytes, step);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int step = 0; step < STEPS; step++) {
    memset(bytes, mark(step), BYTES);
    MPI_File_write_at(file, own_place(step), bytes, BYTES, MPI_BYTE, &status);
  }
  MPI_File_close(&file);
  MPI_Barrier(MPI_COMM_WORLD);
  file = opened(argv[1], info);
  for (int step = 0; step < STEPS; step++) {
    if (rank > 0) usleep(2000);
    memset(bytes, 0, BYTES);
    if (split) {
      MPI_File_read_ordered_begin(file, bytes, BYTES, MPI_BYTE);
      MPI_File_read_ordered_end(file, bytes, &status);
    } else {
      MPI_File_read_ordered(file, bytes, BYTES, MPI_BYTE, &status);
    }
    found[1] += wrong(bytes, step);
  }
  MPI_File_close(&file);
  MPI_Info_free(&info);
  MPI_Reduce(found, all, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d %d\n", all[0], all[1]);
  MPI_Finalize();
  return 0;
}
