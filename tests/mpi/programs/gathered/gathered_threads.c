/* gathered_threads FILE PIECES
 *
 * Several threads of each rank write pieces of 8 bytes in turn through one handle, read their own
 * back, and write some of them again; meanwhile another thread syncs the file. Then rank 0 looks at
 * the file. What is wrong is one line and an exit status of 1. */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kThreads = 4, kBytes = 8, kSyncs = 10 };

static int rank, ranks;
static long pieces;
static MPI_File file;
static atomic_int wrong;

static MPI_Offset place_of(long piece, int thread) {
  return ((MPI_Offset)piece * ranks * kThreads + rank * kThreads + thread) * kBytes;
}

static void fill(char* data, MPI_Offset place, int version) {
  for (int i = 0; i < kBytes; ++i) data[i] = (char)(place / kBytes * 31 + i + version * 7 + 1);
}

static void write_piece(long piece, int thread, int version) {
  char data[kBytes];
  MPI_Status status;
  MPI_Request request;
  const MPI_Offset at = place_of(piece, thread);
  fill(data, at, version);
  if (piece % 5 == 0) {
    MPI_File_iwrite_at(file, at, data, kBytes, MPI_BYTE, &request);
    MPI_Wait(&request, &status);
  } else {
    MPI_File_write_at(file, at, data, kBytes, MPI_BYTE, &status);
  }
}

static void* work(void* number) {
  const int thread = *(const int*)number;
  for (long i = 0; i < pieces; ++i) {
    char expected[kBytes], seen[kBytes];
    write_piece(i, thread, 0);
    if (i % 7 == 0) write_piece(i, thread, 1);
    if (i % 20 != 0) continue;
    fill(expected, place_of(i, thread), i % 7 == 0);
    MPI_File_read_at(file, place_of(i, thread), seen, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
    if (memcmp(seen, expected, kBytes) != 0) ++wrong;
  }
  return NULL;
}

static void check(void) {
  for (int writer = 0; writer < ranks * kThreads; ++writer) {
    for (long i = 0; i < pieces; ++i) {
      const MPI_Offset at = ((MPI_Offset)i * ranks * kThreads + writer) * kBytes;
      char expected[kBytes], seen[kBytes];
      fill(expected, at, i % 7 == 0);
      MPI_File_read_at(file, at, seen, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
      if (memcmp(seen, expected, kBytes) != 0) ++wrong;
    }
  }
}

int main(int argc, char** argv) {
  int level, numbers[kThreads];
  pthread_t threads[kThreads];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  pieces = atol(argv[2]);
  if (level != MPI_THREAD_MULTIPLE) {
    if (rank == 0) printf("no threads\n");
    MPI_Finalize();
    return 0;
  }
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  for (int i = 0; i < kThreads; ++i) {
    numbers[i] = i;
    pthread_create(&threads[i], NULL, work, &numbers[i]);
  }
  for (int i = 0; i < kSyncs; ++i) MPI_File_sync(file);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  MPI_File_close(&file);
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  if (rank == 0) check();
  MPI_File_close(&file);
  if (wrong != 0) printf("rank %d: %d wrong\n", rank, (int)wrong);
  MPI_Finalize();
  return wrong != 0;
}
