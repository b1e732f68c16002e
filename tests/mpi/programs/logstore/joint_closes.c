// Ranks that open one file together and close it, in several ways. After each close they say what
// the system has under the name: "STEP RANK file", "directory" or "nothing". The system is asked
// straight, past every library.
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kPiece = 8, kPieces = 20000 };

static const char* g_path;
static int g_rank, g_ranks;

static void say(const char* step) {
  struct stat about;
  const char* kind = "nothing";
  if (syscall(SYS_newfstatat, AT_FDCWD, g_path, &about, 0) == 0) {
    kind = S_ISDIR(about.st_mode) ? "directory" : "file";
  }
  printf("%s %d %s\n", step, g_rank, kind);
  fflush(stdout);
}

static MPI_File open_by(MPI_Comm comm, int more) {
  MPI_File file;
  if (MPI_File_open(comm, g_path, MPI_MODE_CREATE | MPI_MODE_RDWR | more, MPI_INFO_NULL, &file) !=
      MPI_SUCCESS) {
    fprintf(stderr, "rank %d cannot open %s\n", g_rank, g_path);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  return file;
}

static void put(MPI_File file, long offset, char text) {
  char piece[kPiece];
  memset(piece, text, sizeof piece);
  MPI_Status status;
  MPI_File_write_at(file, offset, piece, kPiece, MPI_BYTE, &status);
}

static void put_in_turns(MPI_File file) {
  for (int i = 0; i < kPieces; ++i) {
    put(file, ((long)i * g_ranks + g_rank) * kPiece, (char)('a' + (i + g_rank) % 26));
  }
}

static void close_and_say(MPI_File* file, const char* step) {
  MPI_File_close(file);
  say(step);
}

static void meet(void) {
  MPI_Barrier(MPI_COMM_WORLD);
}

static void whole(void) {
  MPI_File file = open_by(MPI_COMM_WORLD, 0);
  put_in_turns(file);
  say("open");
  close_and_say(&file, "closed");
  meet();
  say("met");
}

// Holes, a size beyond all writes, and bytes that a later size took away.
static void holes(void) {
  MPI_File file = open_by(MPI_COMM_WORLD, 0);
  put(file, (long)g_rank * (1 << 20), 'x');
  put(file, 50L << 20, 'y');
  MPI_File_set_size(file, 40L << 20);
  MPI_File_set_size(file, 60L << 20);
  close_and_say(&file, "closed");
}

static void two_handles(void) {
  MPI_File one = open_by(MPI_COMM_WORLD, 0);
  MPI_File other = open_by(MPI_COMM_WORLD, 0);
  put_in_turns(one);
  close_and_say(&one, "first");
  meet();
  put(other, 0, 'z');
  close_and_say(&other, "second");
}

static void halves(void) {
  MPI_File all = open_by(MPI_COMM_WORLD, 0);
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, g_rank % 2, g_rank, &half);
  MPI_File file = open_by(half, 0);
  // The file no longer needs it.
  MPI_Comm_free(&half);
  close_and_say(&all, "all");
  meet();
  put_in_turns(file);
  if (g_rank % 2 == 0) close_and_say(&file, "even");
  meet();
  if (g_rank % 2 == 1) close_and_say(&file, "odd");
  meet();
  say("end");
}

static void alone(void) {
  MPI_File all = open_by(MPI_COMM_WORLD, 0);
  put_in_turns(all);
  MPI_File own = open_by(MPI_COMM_SELF, 0);
  close_and_say(&all, "all");
  for (int turn = 0; turn < g_ranks; ++turn) {
    meet();
    if (turn != g_rank) continue;
    put(own, g_rank * kPiece, 's');
    MPI_File_close(&own);
    say(turn == g_ranks - 1 ? "last" : "own");
  }
}

// One rank keeps its own handle until the process ends.
static void unclosed(void) {
  MPI_File all = open_by(MPI_COMM_WORLD, 0);
  put_in_turns(all);
  MPI_File own = MPI_FILE_NULL;
  if (g_rank == 0) own = open_by(MPI_COMM_SELF, 0);
  meet();
  close_and_say(&all, "all");
  (void)own;
}

// Rank 1 dies behind an MPI_File_sync, and with it the others.
static void killed(void) {
  MPI_File file = open_by(MPI_COMM_WORLD, 0);
  put_in_turns(file);
  MPI_File_sync(file);
  meet();
  if (g_rank == 1) raise(SIGKILL);
  meet();
}

static void removed(void) {
  MPI_File file = open_by(MPI_COMM_WORLD, MPI_MODE_DELETE_ON_CLOSE);
  put_in_turns(file);
  MPI_File_close(&file);
  meet();
  say("closed");
}

// One rank may make no file of that size.
static void limited(void) {
  MPI_File file = open_by(MPI_COMM_WORLD, 0);
  put(file, (1L << 20) * (g_rank + 1), 'x');
  if (g_rank == g_ranks - 1) {
    const struct rlimit small = {65536, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  close_and_say(&file, "closed");
}

// By a hint of ROMIO one rank alone has the file open, and writes for all.
static void deferred(void) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_no_indep_rw", "true");
  MPI_Info_set(info, "cb_nodes", "1");
  MPI_File file;
  const int mode = MPI_MODE_CREATE | MPI_MODE_WRONLY;
  if (MPI_File_open(MPI_COMM_WORLD, g_path, mode, info, &file) != MPI_SUCCESS) {
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Info_free(&info);
  char piece[kPiece];
  memset(piece, 'a' + g_rank, sizeof piece);
  MPI_Status status;
  MPI_File_write_at_all(file, (long)g_rank * kPiece, piece, kPiece, MPI_BYTE, &status);
  MPI_File_close(&file);
  meet();
  say("met");
}

// As on file systems of each node's own: under the name the other ranks have an ordinary file.
static void apart(void) {
  char other[4096];
  snprintf(other, sizeof other, "%s.other", g_path);
  if (g_rank == 0) close(open(other, O_CREAT | O_WRONLY, 0644));
  meet();
  if (g_rank != 0) g_path = other;
  MPI_File file = open_by(MPI_COMM_WORLD, 0);
  put(file, (long)g_rank * kPiece, (char)('a' + g_rank));
  MPI_File_close(&file);
  meet();
  say("met");
}

static void again(void) {
  for (int turn = 0; turn < 3; ++turn) {
    MPI_File file = open_by(MPI_COMM_WORLD, 0);
    put(file, (long)(turn * g_ranks + g_rank) * kPiece, (char)('0' + turn));
    close_and_say(&file, "closed");
    meet();
  }
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } kWays[] = {{"whole", whole},   {"holes", holes},       {"two-handles", two_handles},
               {"halves", halves}, {"alone", alone},       {"unclosed", unclosed},
               {"killed", killed}, {"removed", removed},   {"limited", limited},
               {"again", again},   {"deferred", deferred}, {"apart", apart}};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_ranks);
  if (argc != 3) return 2;
  g_path = argv[2];
  int found = 0;
  for (unsigned i = 0; i < sizeof kWays / sizeof *kWays; ++i) {
    if (strcmp(kWays[i].name, argv[1]) != 0) continue;
    kWays[i].run();
    found = 1;
  }
  MPI_Finalize();
  return found ? 0 : 2;
}
