/* Collectives of two ranks (order_say.h): at once, by a request, persistent, with large counts. */
#include "order_say.h"

static MPI_Comm g_comm;
static long long g_word;
static int g_from[4], g_to[4], g_none[2], g_one[2] = {1, 1}, g_places[2] = {0, 1};
/* Only rank 1 sends to itself and to rank 0. */
static int g_mixed[2] = {0, 1};
static MPI_Datatype g_types[2];
static MPI_Count g_large_mixed[2] = {0, 1};
static MPI_Aint g_large_places[2] = {0, 1};

static void at_once(void) {
  const int root = 1;
  SAY("MPI_Bcast", 2, root, g_word, MPI_Bcast(g_to, 2, MPI_INT, root, g_comm));
  SAY("MPI_Bcast", 0, 0, g_word, MPI_Bcast(g_to, 0, MPI_INT, 0, g_comm));
  SAY("MPI_Reduce", 2, root, g_word, MPI_Reduce(g_from, g_to, 2, MPI_INT, MPI_SUM, root, g_comm));
  SAY("MPI_Allreduce", 1, g_word, MPI_Allreduce(MPI_IN_PLACE, g_to, 1, MPI_INT, MPI_MAX, g_comm));
  SAY("MPI_Gather", 1, 2, root, g_word,
      MPI_Gather(g_from, 1, MPI_2INT, g_to, 2, MPI_INT, root, g_comm));
  SAY("MPI_Gatherv", g_rank, root, g_word,
      MPI_Gatherv(g_from, g_rank, MPI_INT, g_to, g_mixed, g_places, MPI_INT, root, g_comm));
  SAY("MPI_Scatter", 1, 1, root, g_word,
      MPI_Scatter(g_from, 1, MPI_INT, g_to, 1, MPI_INT, root, g_comm));
  SAY("MPI_Scatterv", g_rank, root, g_word,
      MPI_Scatterv(g_from, g_mixed, g_places, MPI_INT, g_to, g_rank, MPI_INT, root, g_comm));
  SAY("MPI_Allgather", 1, 1, g_word, MPI_Allgather(g_from, 1, MPI_INT, g_to, 1, MPI_INT, g_comm));
  SAY("MPI_Allgatherv", g_rank, g_rank, g_word,
      MPI_Allgatherv(g_from, g_rank, MPI_INT, g_to, g_mixed, g_places, MPI_INT, g_comm));
  SAY("MPI_Alltoall", 1, 1, g_word, MPI_Alltoall(g_from, 1, MPI_INT, g_to, 1, MPI_INT, g_comm));
  /* Both get something from rank 1 alone. */
  SAY("MPI_Alltoallv", 1, 2, g_word,
      MPI_Alltoallv(g_from, g_rank == 1 ? g_one : g_none, g_places, MPI_INT, g_to, g_mixed,
                    g_places, MPI_INT, g_comm));
  SAY("MPI_Alltoallw", 1, 2, g_word,
      MPI_Alltoallw(g_from, g_rank == 1 ? g_one : g_none, g_none, g_types, g_to, g_mixed, g_none,
                    g_types, g_comm));
  SAY("MPI_Reduce_scatter", g_rank, g_word,
      MPI_Reduce_scatter(g_from, g_to, g_mixed, MPI_INT, MPI_SUM, g_comm));
  SAY("MPI_Reduce_scatter_block", 1, g_word,
      MPI_Reduce_scatter_block(g_from, g_to, 1, MPI_INT, MPI_SUM, g_comm));
  SAY("MPI_Scan", 1, g_word, MPI_Scan(g_from, g_to, 1, MPI_INT, MPI_SUM, g_comm));
  SAY("MPI_Exscan", 1, g_word, MPI_Exscan(g_from, g_to, 1, MPI_INT, MPI_SUM, g_comm));
  barrier(g_comm);
}

static MPI_Request g_request;
static void done(long long error) {
  const long long begun = of_request(g_request);
  demand(error == MPI_SUCCESS, "a collective failed");
  const int result = MPI_Wait(&g_request, MPI_STATUS_IGNORE);
  SAY("MPI_Wait", begun, result, kAnything, kAnything);
}
#define BEGUN(name, call, ...)                            \
  do {                                                    \
    const int error = call;                               \
    SAY(name, __VA_ARGS__, of_request(g_request), error); \
    done(error);                                          \
  } while (0)

static void by_request(void) {
  BEGUN("MPI_Ibarrier", MPI_Ibarrier(g_comm, &g_request), g_word);
  BEGUN("MPI_Ibcast", MPI_Ibcast(g_to, 2, MPI_INT, 1, g_comm, &g_request), 2, 1, g_word);
  BEGUN("MPI_Ireduce", MPI_Ireduce(g_from, g_to, 2, MPI_INT, MPI_SUM, 1, g_comm, &g_request), 2, 1,
        g_word);
  BEGUN("MPI_Iallreduce", MPI_Iallreduce(g_from, g_to, 2, MPI_INT, MPI_SUM, g_comm, &g_request), 2,
        g_word);
  BEGUN("MPI_Igather", MPI_Igather(g_from, 1, MPI_INT, g_to, 1, MPI_INT, 0, g_comm, &g_request), 1,
        1, 0, g_word);
  BEGUN("MPI_Igatherv",
        MPI_Igatherv(g_from, g_rank, MPI_INT, g_to, g_mixed, g_places, MPI_INT, 0, g_comm,
                     &g_request),
        g_rank, 0, g_word);
  BEGUN("MPI_Iscatter", MPI_Iscatter(g_from, 1, MPI_INT, g_to, 1, MPI_INT, 0, g_comm, &g_request),
        1, 1, 0, g_word);
  BEGUN("MPI_Iscatterv",
        MPI_Iscatterv(g_from, g_mixed, g_places, MPI_INT, g_to, g_rank, MPI_INT, 0, g_comm,
                      &g_request),
        g_rank, 0, g_word);
  BEGUN("MPI_Iallgather", MPI_Iallgather(g_from, 1, MPI_INT, g_to, 1, MPI_INT, g_comm, &g_request),
        1, 1, g_word);
  BEGUN("MPI_Iallgatherv",
        MPI_Iallgatherv(g_from, g_rank, MPI_INT, g_to, g_mixed, g_places, MPI_INT, g_comm,
                        &g_request),
        g_rank, g_rank, g_word);
  BEGUN("MPI_Ialltoall", MPI_Ialltoall(g_from, 1, MPI_INT, g_to, 1, MPI_INT, g_comm, &g_request), 1,
        1, g_word);
  BEGUN("MPI_Ialltoallv",
        MPI_Ialltoallv(g_from, g_rank == 1 ? g_one : g_none, g_places, MPI_INT, g_to, g_mixed,
                       g_places, MPI_INT, g_comm, &g_request),
        1, 2, g_word);
  BEGUN("MPI_Ialltoallw",
        MPI_Ialltoallw(g_from, g_rank == 1 ? g_one : g_none, g_none, g_types, g_to, g_mixed, g_none,
                       g_types, g_comm, &g_request),
        1, 2, g_word);
  BEGUN("MPI_Ireduce_scatter",
        MPI_Ireduce_scatter(g_from, g_to, g_mixed, MPI_INT, MPI_SUM, g_comm, &g_request), g_rank,
        g_word);
  BEGUN("MPI_Ireduce_scatter_block",
        MPI_Ireduce_scatter_block(g_from, g_to, 1, MPI_INT, MPI_SUM, g_comm, &g_request), 1,
        g_word);
  BEGUN("MPI_Iscan", MPI_Iscan(g_from, g_to, 1, MPI_INT, MPI_SUM, g_comm, &g_request), 1, g_word);
  BEGUN("MPI_Iexscan", MPI_Iexscan(g_from, g_to, 1, MPI_INT, MPI_SUM, g_comm, &g_request), 1,
        g_word);
}

/* Each rank's neighbours in a ring of two are the other, twice. */
static void among_neighbours(void) {
  int sizes[1] = {2}, periods[1] = {1};
  MPI_Comm ring;
  int result = MPI_Cart_create(g_comm, 1, sizes, periods, 0, &ring);
  const long long word = of_comm(ring);
  SAY("MPI_Cart_create", g_word, 1, 1, 2, 1, 1, 0, word, result, g_rank, 2, 0, members(2));
  SAY("MPI_Neighbor_allgather", 1, 1, word,
      MPI_Neighbor_allgather(g_from, 1, MPI_INT, g_to, 1, MPI_INT, ring));
  SAY("MPI_Neighbor_allgatherv", 1, word,
      MPI_Neighbor_allgatherv(g_from, 1, MPI_INT, g_to, g_one, g_places, MPI_INT, ring));
  SAY("MPI_Neighbor_alltoall", 1, 1, word,
      MPI_Neighbor_alltoall(g_from, 1, MPI_INT, g_to, 1, MPI_INT, ring));
  SAY("MPI_Neighbor_alltoallv", word,
      MPI_Neighbor_alltoallv(g_from, g_one, g_places, MPI_INT, g_to, g_one, g_places, MPI_INT,
                             ring));
  BEGUN("MPI_Ineighbor_allgather",
        MPI_Ineighbor_allgather(g_from, 1, MPI_INT, g_to, 1, MPI_INT, ring, &g_request), 1, 1,
        word);
  BEGUN("MPI_Ineighbor_alltoall",
        MPI_Ineighbor_alltoall(g_from, 1, MPI_INT, g_to, 1, MPI_INT, ring, &g_request), 1, 1, word);
  result = MPI_Comm_free(&ring);
  SAY("MPI_Comm_free", word, result);
}

#if MPI_VERSION >= 4
static void start(void) {
  const long long request = of_request(g_request);
  int result = MPI_Start(&g_request);
  SAY("MPI_Start", request, result);
  result = MPI_Wait(&g_request, MPI_STATUS_IGNORE);
  SAY("MPI_Wait", request, result, kAnything, kAnything);
  result = MPI_Request_free(&g_request);
  SAY("MPI_Request_free", request, result);
}
static void persistent(void) {
  const MPI_Info none = MPI_INFO_NULL;
  long long info = 0;
  memcpy(&info, &none, sizeof none);
  int result = MPI_Barrier_init(g_comm, MPI_INFO_NULL, &g_request);
  SAY("MPI_Barrier_init", g_word, info, of_request(g_request), result);
  start();
  result = MPI_Bcast_init(g_to, 2, MPI_INT, 1, g_comm, MPI_INFO_NULL, &g_request);
  SAY("MPI_Bcast_init", 2, 1, g_word, info, of_request(g_request), result);
  start();
  result = MPI_Alltoallv_init(g_from, g_rank == 1 ? g_one : g_none, g_places, MPI_INT, g_to,
                              g_mixed, g_places, MPI_INT, g_comm, MPI_INFO_NULL, &g_request);
  SAY("MPI_Alltoallv_init", 1, 2, g_word, info, of_request(g_request), result);
  start();
}
#else
static void persistent(void) {}
#endif

#if MPI_VERSION >= 4
static void large(void) {
  SAY("MPI_Bcast_c", 2, 1, g_word, MPI_Bcast_c(g_to, 2, MPI_INT, 1, g_comm));
  SAY("MPI_Allgatherv_c", g_rank, g_rank, g_word,
      MPI_Allgatherv_c(g_from, g_rank, MPI_INT, g_to, g_large_mixed, g_large_places, MPI_INT,
                       g_comm));
  BEGUN("MPI_Iallreduce_c", MPI_Iallreduce_c(g_from, g_to, 2, MPI_INT, MPI_SUM, g_comm, &g_request),
        2, g_word);
}
#else
static void large(void) {
  (void)g_large_mixed;
  (void)g_large_places;
}
#endif

int main(int argc, char** argv) {
  if (!begin(&argc, &argv)) return 2;
  g_comm = MPI_COMM_WORLD;
  g_word = of_comm(g_comm);
  g_types[0] = g_types[1] = MPI_INT;
  at_once();
  by_request();
  among_neighbours();
  persistent();
  large();
  fclose(g_said);
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Finalize();
}
