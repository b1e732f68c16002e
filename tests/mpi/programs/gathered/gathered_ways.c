/* gathered_ways WAY FILE PIECES
 *
 * Each rank writes PIECES pieces of 8 bytes in turn with the others by MPI_File_write_at, on a file
 * that was opened in some WAY, and ends in some way. Prints one line where something is wrong. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int is(const char* way, const char* name) {
  return strcmp(way, name) == 0;
}

static void limit_files(rlim_t bytes) {
  struct rlimit limit;
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = bytes;
  setrlimit(RLIMIT_FSIZE, &limit);
}

/* The log has room for a part of one write; later it has more, and the process is killed. */
static void log_without_room(MPI_File file, int rank) {
  enum { kPiece = 8 << 10, kLarge = 60 << 10, kLogBefore = 24 };
  static char piece[kLarge];
  const MPI_Offset begin = (MPI_Offset)rank * 72 * 1024;
  signal(SIGXFSZ, SIG_IGN);
  limit_files(200 << 10);
  memset(piece, 'a', sizeof piece);
  for (int i = 0; i < kLogBefore; ++i) {
    MPI_File_write_at(file, begin, piece, kPiece, MPI_BYTE, MPI_STATUS_IGNORE);
  }
  memset(piece, 'Z', sizeof piece);
  MPI_File_write_at(file, begin + kPiece, piece, kLarge, MPI_BYTE, MPI_STATUS_IGNORE);
  limit_files(RLIM_INFINITY);
  MPI_File_write_at(file, begin, "later", 5, MPI_BYTE, MPI_STATUS_IGNORE);
  sleep(6);
  MPI_File_write_at(file, begin + 5, "latest", 6, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  raise(SIGKILL);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
  const char* const way = argv[1];
  const long pieces = atol(argv[3]);
  int amode = MPI_MODE_CREATE | MPI_MODE_RDWR;
  if (is(way, "write-only")) amode = MPI_MODE_CREATE | MPI_MODE_WRONLY;
  if (is(way, "unique")) amode |= MPI_MODE_UNIQUE_OPEN;
  if (is(way, "deleted")) amode |= MPI_MODE_DELETE_ON_CLOSE;
  const MPI_Comm comm = is(way, "self") ? MPI_COMM_SELF : MPI_COMM_WORLD;
  MPI_File file;
  if (MPI_File_open(comm, argv[2], amode, MPI_INFO_NULL, &file) != MPI_SUCCESS) {
    printf("rank %d: no file\n", rank);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (is(way, "atomic")) MPI_File_set_atomicity(file, 1);
  if (is(way, "log-without-room")) log_without_room(file, rank);
  const long step = is(way, "holes") ? 2 : 1;
  for (long i = 0; i < pieces; ++i) {
    char piece[8];
    memset(piece, (int)(i * ranks + rank) | 1, sizeof piece);
    const MPI_Offset at = (MPI_Offset)(i * ranks + rank) * 8 * step;
    if (MPI_File_write_at(file, at, piece, 8, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS) ++wrong;
  }
  if (is(way, "killed")) { /* when the log's index has all pieces but the last */
    sleep(6);
    MPI_File_write_at(file, (pieces * ranks + rank) * 8, "\7\7\7\7\7\7\7", 8, MPI_BYTE,
                      MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD); /* the launcher kills the other rank as soon as one is dead */
    raise(SIGKILL);
  }
  if (is(way, "exit")) { /* without MPI_Finalize: the launcher kills the others for it */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) exit(0);
    alarm(60);
    pause();
  }
  if (is(way, "finalize")) {
    MPI_Finalize();
    return 0;
  }
  if (is(way, "abort")) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) MPI_Abort(MPI_COMM_WORLD, 7);
    pause();
  }
  const int synced = MPI_File_sync(file);
  const int closed = MPI_File_close(&file);
  if (is(way, "full")) printf("%s %s\n", synced ? "error" : "good", closed ? "error" : "good");
  MPI_Finalize();
  return wrong != 0 && !is(way, "full");
}
