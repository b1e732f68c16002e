/* logged_scope FOLDER: opens files below FOLDER in the ways of MPI and in others, on two ranks.
 * Prints which of them are kept as logs, what the others are, and that all bytes are right. */
#include <dirent.h>
#include <fcntl.h>
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RECORDS = 200, BYTES = 64 };

static int rank, ranks;
static const char* folder;

static const char* at(const char* name) {
  static char paths[4][4096];
  static int next;
  char* const path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

/* As this program sees it: MPI's mark is not on its calls. */
static const char* kind(const char* name) {
  struct stat status;
  char description[5000];
  if (stat(at(name), &status) != 0) return "nothing";
  if (!S_ISDIR(status.st_mode)) return "a file";
  snprintf(description, sizeof description, "%s/container", at(name));
  return access(description, F_OK) == 0 ? "logs" : "a folder";
}

static void say(const char* what, const char* found) {
  if (rank == 0) printf("%s: %s\n", what, found);
  fflush(stdout);
}
static void say_kind(const char* what, const char* name) {
  MPI_Barrier(MPI_COMM_WORLD);
  say(what, kind(name));
  MPI_Barrier(MPI_COMM_WORLD);
}
static void check(const char* what, int right) {
  int all = 0;
  MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  say(what, all ? "right" : "WRONG");
}

static MPI_File open_it(MPI_Comm comm, const char* name, int amode) {
  MPI_File file;
  if (MPI_File_open(comm, name, amode, MPI_INFO_NULL, &file) != MPI_SUCCESS) {
    fprintf(stderr, "%s cannot be opened\n", name);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  return file;
}
static MPI_File make(const char* name) {
  return open_it(MPI_COMM_WORLD, at(name), MPI_MODE_CREATE | MPI_MODE_RDWR);
}

static void fill(char* record, int i) {
  memset(record, 'a' + i % 26, BYTES);
}

/* Records by turns, in every way that moves data, and all of them read back. */
static void transfers(const char* name) {
  MPI_File file = make(name);
  char records[RECORDS][BYTES];
  MPI_Request requests[RECORDS];
  MPI_Status statuses[RECORDS];
  say_kind("on two ranks", name);
  for (int i = 0; i < RECORDS; ++i) fill(records[i], i);
  for (int i = rank; i < RECORDS; i += ranks) {
    const MPI_Offset offset = (MPI_Offset)i * BYTES;
    requests[i] = MPI_REQUEST_NULL;
    if (i < 60) {
      MPI_File_write_at(file, offset, records[i], BYTES, MPI_CHAR, MPI_STATUS_IGNORE);
    } else if (i < 120) {
      MPI_File_iwrite_at(file, offset, records[i], BYTES, MPI_CHAR, &requests[i]);
      MPI_Wait(&requests[i], &statuses[i]);
    } else if (i < 160) {
      MPI_File_seek(file, offset, MPI_SEEK_SET);
      MPI_File_write(file, records[i], BYTES, MPI_CHAR, MPI_STATUS_IGNORE);
    } else if (i < 180) {
      MPI_File_write_at_all(file, offset, records[i], BYTES, MPI_CHAR, MPI_STATUS_IGNORE);
    } else {
      MPI_File_iwrite_at_all(file, offset, records[i], BYTES, MPI_CHAR, &requests[i]);
      MPI_Wait(&requests[i], &statuses[i]);
    }
  }
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  /* A view with holes, which data sieving reads and writes under locks. */
  MPI_Datatype every_other;
  MPI_Type_vector(RECORDS / 2, BYTES, 2 * BYTES, MPI_CHAR, &every_other);
  MPI_Type_commit(&every_other);
  MPI_File_set_view(file, (MPI_Offset)rank * BYTES, MPI_CHAR, every_other, "native", MPI_INFO_NULL);
  char mine[RECORDS / 2][BYTES];
  memset(mine, 0, sizeof mine);
  MPI_File_read_at(file, 0, mine, sizeof mine, MPI_CHAR, MPI_STATUS_IGNORE);
  int right = 1;
  for (int i = 0; i < RECORDS / 2; ++i)
    right = right && !memcmp(mine[i], records[2 * i + rank], BYTES);
  check("read through a view", right);
  MPI_File_set_atomicity(file, 1);
  MPI_File_write_at(file, 0, mine, sizeof mine, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_set_atomicity(file, 0);
  MPI_File_set_view(file, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL);
  MPI_Type_free(&every_other);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  char all[RECORDS][BYTES];
  memset(all, 0, sizeof all);
  MPI_Request request;
  MPI_File_iread_at(file, 0, all, sizeof all, MPI_CHAR, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check("read back", !memcmp(all, records, sizeof all));
  MPI_Offset size = 0;
  MPI_File_get_size(file, &size);
  check("size", size == RECORDS * BYTES);
  MPI_File_set_size(file, RECORDS * BYTES + 1000);
  MPI_File_get_size(file, &size);
  check("set size", size == RECORDS * BYTES + 1000);
  MPI_File_set_size(file, RECORDS * BYTES);
  MPI_File_close(&file);
}

/* Their positions lie in files of MPI's own beside the file. */
static void shared_pointers(const char* name) {
  MPI_File file = make(name);
  char record[BYTES];
  fill(record, rank);
  MPI_File_write_ordered(file, record, BYTES, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_write_shared(file, record, BYTES, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    int folders = 0;
    DIR* const listed = opendir(folder);
    for (struct dirent* entry; (entry = readdir(listed)) != NULL;) {
      const int beside = strstr(entry->d_name, name) != NULL && strcmp(entry->d_name, name) != 0;
      if (beside && strcmp(kind(entry->d_name), "a file") != 0) ++folders;
    }
    closedir(listed);
    say("files of shared pointers", folders == 0 ? "files" : "NOT FILES");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  char got[4 * BYTES] = "", wanted[2 * BYTES];
  fill(wanted, 0);
  fill(wanted + BYTES, 1);
  MPI_File_read_at(file, 0, got, sizeof got, MPI_CHAR, MPI_STATUS_IGNORE);
  check("in the order of the ranks", !memcmp(got, wanted, sizeof wanted));
  MPI_File_close(&file);
}

/* What the program opens itself, and what a single rank opens, are files. */
static void others(void) {
  MPI_File alone;
  char name[32], text[16] = "";
  snprintf(name, sizeof name, "alone%d", rank);
  alone = open_it(MPI_COMM_SELF, at(name), MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_File_write(alone, "alone", 5, MPI_CHAR, MPI_STATUS_IGNORE);
  say_kind("on a single rank", "alone0");
  MPI_File_close(&alone);
  if (rank == 0) {
    FILE* const stream = fopen(at("stream"), "w");
    fputs("stream", stream);
    fclose(stream);
    const int fd = open(at("opened"), O_RDWR | O_CREAT, 0600);
    if (write(fd, "opened", 6) != 6 || pread(fd, text, 6, 0) != 6) _exit(3);
    close(fd);
  }
  say_kind("by fopen", "stream");
  say_kind("by open", "opened");
  MPI_File there = open_it(MPI_COMM_WORLD, at("opened"), MPI_MODE_CREATE | MPI_MODE_RDWR);
  say_kind("one that was there", "opened");
  MPI_File_close(&there);
}

static jmp_buf before_open;
static void jump(MPI_File* file, int* error, ...) {
  (void)file, (void)error;
  longjmp(before_open, 1);
}

/* An error handler leaves MPI_File_open by a jump: what the thread opens then is the program's. */
static void left_by_jump(void) {
  MPI_Errhandler handler;
  MPI_File file;
  MPI_File_create_errhandler((MPI_File_errhandler_function*)jump, &handler);
  MPI_File_set_errhandler(MPI_FILE_NULL, handler);
  if (setjmp(before_open) == 0) {
    MPI_File_open(MPI_COMM_WORLD, at("jumped"), MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  }
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&handler);
  if (rank == 0) close(open(at("jumped"), O_RDWR | O_CREAT, 0600));
  say_kind("opened after a jump out of MPI_File_open", "jumped");
}

static void names(void) {
  MPI_File file = make("named");
  MPI_File_write_at(file, rank * 5, "named", 5, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  const int amode = MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR;
  const int again = MPI_File_open(MPI_COMM_WORLD, at("named"), amode, MPI_INFO_NULL, &file);
  check("made once", again != MPI_SUCCESS);
  if (rank == 0) MPI_File_delete(at("named"), MPI_INFO_NULL);
  say_kind("deleted", "named");
  file = open_it(MPI_COMM_WORLD, at("passing"),
                 MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
  MPI_File_write_at(file, rank * 5, "going", 5, MPI_CHAR, MPI_STATUS_IGNORE);
  say_kind("to be deleted when it is closed", "passing");
  MPI_File_close(&file);
  say_kind("closed", "passing");
  /* A name as MPI has it, in the folder where the ranks are. */
  if (chdir(folder) != 0) MPI_Abort(MPI_COMM_WORLD, 3);
  file = open_it(MPI_COMM_WORLD, "relative", MPI_MODE_CREATE | MPI_MODE_RDWR);
  say_kind("by a relative name", "relative");
  MPI_File_close(&file);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  folder = argv[1];
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  if (argc > 2) { /* what an earlier run left */
    MPI_File file = open_it(MPI_COMM_WORLD, at("transfers"), MPI_MODE_RDONLY);
    char got[RECORDS][BYTES], wanted[RECORDS][BYTES];
    for (int i = 0; i < RECORDS; ++i) fill(wanted[i], i);
    MPI_File_read_at_all(file, 0, got, sizeof got, MPI_CHAR, MPI_STATUS_IGNORE);
    check("read again", !memcmp(got, wanted, sizeof got));
    MPI_File_close(&file);
  } else {
    transfers("transfers");
    shared_pointers("shared");
    others();
    left_by_jump();
    names();
  }
  MPI_Finalize();
  return 0;
}
