/* A parallel program whose calls stand in a script, so that a seeded generator can write a
 * thousand of them. Not one of its calls is wrong: bare, each script ends by itself.
 *   torture_program SCRIPT      under mpirun; each rank leaves what it saw in seen.RANK
 *   torture_program --dump FILE…   contents of HDF5 files, whatever their layout
 * The commands are described in draw_programs.py. */
#include "torture_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int rank, ranks;
MPI_Comm parity = MPI_COMM_NULL;
struct file files[8];
struct set sets[16];

static uint64_t seen = 0xcbf29ce484222325u;
static char results[4096];
static size_t result_count;

void note_result(int good) {
  if (result_count + 1 < sizeof results) results[result_count++] = good ? '+' : '-';
}
void note_bytes(const void* bytes, size_t n) {
  const unsigned char* at = bytes;
  for (size_t i = 0; i < n; ++i) seen = (seen ^ at[i]) * 0x100000001b3u;
}

MPI_Comm communicator(const char* name) {
  if (strcmp(name, "world") == 0) return MPI_COMM_WORLD;
  if (strcmp(name, "self") == 0) return MPI_COMM_SELF;
  if (parity == MPI_COMM_NULL) MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &parity);
  return parity;
}

/* Each communicator's members have a file of their own. */
void own_name(const char* name, const char* comm, char* to, size_t room) {
  if (strcmp(comm, "world") == 0)
    snprintf(to, room, "%s", name);
  else if (strcmp(comm, "self") == 0)
    snprintf(to, room, "%s.r%d", name, rank);
  else
    snprintf(to, room, "%s.p%d", name, rank % 2);
}

MPI_Info info_of(const char* text) {
  if (strcmp(text, "-") == 0) return MPI_INFO_NULL;
  char copy[256];
  snprintf(copy, sizeof copy, "%s", text);
  MPI_Info info;
  MPI_Info_create(&info);
  char* equals = strchr(copy, '=');
  *equals = '\0';
  MPI_Info_set(info, copy, equals + 1);
  return info;
}

int takes_part(const char* who, int me, int all) {
  if (strcmp(who, "all") == 0) return 1;
  if (strcmp(who, "odd") == 0) return me % 2 == 1;
  if (strcmp(who, "first") == 0) return me == 0;
  if (strcmp(who, "last") == 0) return me == all - 1;
  return me != all - 1; /* notlast */
}

struct part part_of(const char* shape, int me, int all, uint64_t rows, uint64_t columns) {
  const uint64_t r = (uint64_t)me, n = (uint64_t)all;
  struct part part = {0, 0, 1, columns, 0};
  if (strcmp(shape, "rows") == 0) {
    part.first_row = rows * r / n;
    part.rows = rows * (r + 1) / n - part.first_row;
  } else if (strcmp(shape, "cyclic") == 0) {
    part.first_row = r;
    part.row_step = n;
    part.rows = rows > r ? (rows - r + n - 1) / n : 0;
  } else if (strcmp(shape, "columns") == 0) {
    part.rows = rows;
    part.first_column = columns * r / n;
    part.columns = columns * (r + 1) / n - part.first_column;
  } else if (strcmp(shape, "uneven") == 0) {
    const uint64_t shares = n * (n + 1) / 2;
    part.first_row = rows * (r * (r + 1) / 2) / shares;
    part.rows = rows * ((r + 1) * (r + 2) / 2) / shares - part.first_row;
  } else if (me == 0) { /* whole: the first rank's */
    part.rows = rows;
  }
  return part;
}

/* The value of an element says where it belongs. */
void fill(const struct part* part, uint64_t columns, int salt, int* values) {
  for (uint64_t i = 0; i < part->rows; ++i)
    for (uint64_t j = 0; j < part->columns; ++j)
      *values++ =
          (int)((part->first_row + i * part->row_step) * columns + part->first_column + j) * 17 +
          salt;
}

static void leave_what_was_seen(void) {
  char name[64], text[4300];
  snprintf(name, sizeof name, "seen.%d", rank);
  snprintf(text, sizeof text, "%s %016llx\n", results, (unsigned long long)seen);
  FILE* file = fopen(name, "w");
  if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) _exit(99);
}

static void write_plain(const char* name) {
  char own[128];
  snprintf(own, sizeof own, "%s.%d", name, rank);
  FILE* file = fopen(own, "w");
  for (int i = 0; file != NULL && i < 100 * (rank + 1); ++i) fprintf(file, "%d of %d\n", i, rank);
  note_result(file != NULL && fclose(file) == 0);
}

/* How the program ends; every rank comes here. */
static void end(const char* how) {
  if (strcmp(how, "finalize") == 0 || strcmp(how, "leave") == 0) {
    leave_what_was_seen();
    MPI_Finalize();
    exit(0);
  }
  if (strcmp(how, "status") == 0) {
    leave_what_was_seen();
    MPI_Finalize();
    exit(3);
  }
  leave_what_was_seen();
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(how, "abort") == 0 && rank == ranks - 1) MPI_Abort(MPI_COMM_WORLD, 7);
  if (strcmp(how, "early") == 0 && rank == ranks - 1) _exit(5);
  if (strcmp(how, "segv") == 0 && rank == 0) raise_segv();
  /* The launcher ends those that wait for the one that is gone. */
  for (;;) pause();
}

static void run_line(char* line) {
  char* words[8] = {NULL};
  int count = 0;
  for (char* word = strtok(line, " \n"); word != NULL && count < 8; word = strtok(NULL, " \n"))
    words[count++] = word;
  if (count == 0) return;
  const char* command = words[0];
  if (run_hdf5(command, words + 1) || run_mpiio(command, words + 1)) return;
  if (strcmp(command, "barrier") == 0)
    MPI_Barrier(MPI_COMM_WORLD);
  else if (strcmp(command, "straggle") == 0 && atoi(words[1]) == rank)
    usleep((useconds_t)atoi(words[2]));
  else if (strcmp(command, "plain") == 0)
    write_plain(words[1]);
  else if (strcmp(command, "commfree") == 0 && parity != MPI_COMM_NULL)
    MPI_Comm_free(&parity);
  else if (strcmp(command, "end") == 0)
    end(words[1]);
}

int main(int argc, char** argv) {
  if (argc > 2 && strcmp(argv[1], "--dump") == 0) return dump_files(argc - 2, argv + 2);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  quiet_hdf5();
  FILE* script = fopen(argv[1], "r");
  if (script == NULL) MPI_Abort(MPI_COMM_WORLD, 98);
  char line[512];
  while (fgets(line, sizeof line, script) != NULL) run_line(line);
  return 97; /* a script without an end */
}
