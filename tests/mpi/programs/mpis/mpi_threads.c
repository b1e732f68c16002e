/* Threads that do MPI-IO at the same time under MPI_THREAD_MULTIPLE, each on a file of its own.
 *   mpi_threads FILE     prints the level that MPI provides */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

#define MUST(condition)                                              \
  do {                                                               \
    if (!(condition)) {                                              \
      fprintf(stderr, "mpi_threads:%d: %s\n", __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 9);                                  \
    }                                                                \
  } while (0)

enum { kThreads = 4, kWrites = 50, kBytes = 64 };
static const char* base;
static int rank;

static void* write_one(void* argument) {
  const int thread = (int)(size_t)argument;
  char name[1000], bytes[kBytes];
  MPI_File file;
  MPI_Datatype part;
  for (int i = 0; i < kBytes; ++i) bytes[i] = (char)('a' + thread);
  snprintf(name, sizeof name, "%s.%d.%d", base, rank, thread);
  MUST(MPI_Type_vector(2, kBytes / 2, kBytes, MPI_BYTE, &part) == 0);
  MUST(MPI_Type_commit(&part) == 0);
  MUST(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                     &file) == 0);
  MUST(MPI_File_set_view(file, thread, MPI_BYTE, part, "native", MPI_INFO_NULL) == 0);
  for (int i = 0; i < kWrites; ++i) {
    MUST(MPI_File_write_at(file, i * kBytes, bytes, kBytes, MPI_BYTE, MPI_STATUS_IGNORE) == 0);
  }
  MUST(MPI_File_close(&file) == 0);
  MPI_Type_free(&part);
  return NULL;
}

int main(int argc, char** argv) {
  int level;
  pthread_t threads[kThreads];
  MUST(argc == 2 && MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level) == 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  base = argv[1];
  if (rank == 0) puts(level == MPI_THREAD_MULTIPLE ? "multiple" : "less");
  if (level == MPI_THREAD_MULTIPLE) {
    /* ROMIO sets itself up in its first call. In MPICH 4.0.2 threads that open at once find it half
     * done ("Null MPI_Op"): without iotune, in one run of five if they start at a barrier. */
    MUST(MPI_File_delete("/nowhere/at/all", MPI_INFO_NULL) != 0);
    for (size_t i = 0; i < kThreads; ++i) {
      MUST(pthread_create(&threads[i], NULL, write_one, (void*)i) == 0);
    }
    for (size_t i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  }
  MPI_Finalize();
  return 0;
}
