/* What the programs order_*.c share: each rank says in said.RANK what it calls and what it
 * got, a line a call, "NAME number …", the numbers as they should stand in the trace. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  kTag = 7,
  kNothing = -3,    /* received */
  kAnything = -999, /* the test takes every number for it */
};

static int g_rank, g_other;
static FILE* g_said;

/* MPICH's values, as the trace has them. */
static inline long long of_rank(int rank) {
  if (rank == MPI_PROC_NULL) return -1;
  return rank == MPI_ANY_SOURCE ? -2 : rank;
}
static inline long long of_tag(int tag) {
  return tag == MPI_ANY_TAG ? -1 : tag;
}
static inline long long of_comm(MPI_Comm comm) {
  long long word = 0;
  memcpy(&word, &comm, sizeof comm);
  return word;
}
static inline long long of_request(MPI_Request request) {
  long long word = 0;
  memcpy(&word, &request, sizeof request);
  return word;
}
static inline long long of_message(MPI_Message message) {
  long long word = 0;
  memcpy(&word, &message, sizeof message);
  return word;
}

/* As the trace has it: FNV-1a of the ranks in MPI_COMM_WORLD of a communicator's members, of each
 * four bytes. Here of 0, 1 … */
static inline long long members_from(int first, int count) {
  unsigned long long hash = 0xcbf29ce484222325u;
  for (int rank = first; rank < first + count; ++rank) {
    for (int byte = 0; byte < 4; ++byte) {
      hash = (hash ^ (((unsigned)rank >> 8 * byte) & 0xff)) * 0x100000001b3u;
    }
  }
  return (long long)hash;
}
static inline long long members(int count) {
  return members_from(0, count);
}

static void say(const char* name, const long long* numbers, size_t count) {
  fputs(name, g_said);
  for (size_t i = 0; i < count; ++i) fprintf(g_said, " %lld", numbers[i]);
  fputs("\n", g_said);
}
#define SAY(name, ...)                     \
  say(name, (long long[]){__VA_ARGS__},    \
      sizeof((long long[]){__VA_ARGS__}) / \
          sizeof(long long)) /* NOLINT(bugprone-sizeof-expression) */

static inline void demand(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "%d: %s\n", g_rank, what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

/* What a receive from `source` by `tag` will have got. */
static inline void check_status(const MPI_Status* status, int source, int tag) {
  if (status == MPI_STATUS_IGNORE) return;
  demand(status->MPI_SOURCE == source && status->MPI_TAG == tag, "another status");
}

static int begin(int* argc, char*** argv) {
  int ranks;
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  g_other = 1 - g_rank;
  char name[32];
  snprintf(name, sizeof name, "said.%d", g_rank);
  g_said = fopen(name, "w");
  return ranks == 2 && g_said != NULL;
}

static inline void barrier(MPI_Comm comm) {
  SAY("MPI_Barrier", of_comm(comm), MPI_Barrier(comm));
}
