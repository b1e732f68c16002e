/* Two ranks make communicators, free them, and make windows (order_say.h). */
#include "order_say.h"

enum { kUnknownLeader = -32766 };

static long long g_world, g_info;
static MPI_Comm g_made;

/* What every call that makes one says at its end: this rank's rank in it, its size, its leader in
 * the world, its members. */
#define MADE(name, rank, size, leader, hash, ...) \
  SAY(name, __VA_ARGS__, of_comm(g_made), result, rank, size, leader, hash)

static void release(void) {
  const long long word = of_comm(g_made);
  const int result = MPI_Comm_free(&g_made);
  SAY("MPI_Comm_free", word, result);
}

static void duplicates(void) {
  int result = MPI_Comm_dup(MPI_COMM_WORLD, &g_made);
  MADE("MPI_Comm_dup", g_rank, 2, 0, members(2), g_world);
  barrier(g_made);
  MPI_Comm world = g_made, second;
  const long long first = of_comm(g_made);
  result = MPI_Comm_dup_with_info(world, MPI_INFO_NULL, &g_made);
  MADE("MPI_Comm_dup_with_info", g_rank, 2, 0, members(2), first, g_info);
  release();
  MPI_Request request;
  result = MPI_Comm_idup(world, &second, &request);
  const long long named = of_comm(second), begun = of_request(request);
  SAY("MPI_Comm_idup", first, named, begun, result, g_rank, 2, 0, members(2));
  result = MPI_Wait(&request, MPI_STATUS_IGNORE);
  SAY("MPI_Wait", begun, result, kAnything, kAnything);
  demand(of_comm(second) == named, "another handle after the wait");
  g_made = second;
  barrier(g_made);
  release();
  g_made = world;
  result = MPI_Comm_disconnect(&g_made);
  SAY("MPI_Comm_disconnect", first, result);
  result = MPI_Comm_dup(MPI_COMM_SELF, &g_made);
  MADE("MPI_Comm_dup", 0, 1, g_rank, members_from(g_rank, 1), of_comm(MPI_COMM_SELF));
  release();
}

static void splits(void) {
  /* Backwards: rank 1 comes first. */
  int result = MPI_Comm_split(MPI_COMM_WORLD, 5, -g_rank, &g_made);
  const int ranks[2] = {1, 0};
  unsigned long long hash = 0xcbf29ce484222325u;
  for (int i = 0; i < 8; ++i) {
    hash = (hash ^ (i % 4 == 0 ? (unsigned)ranks[i / 4] : 0)) * 0x100000001b3u;
  }
  MADE("MPI_Comm_split", 1 - g_rank, 2, 1, (long long)hash, g_world, 5, -g_rank);
  release();
  result = MPI_Comm_split(MPI_COMM_WORLD, g_rank == 0 ? 1 : MPI_UNDEFINED, 3, &g_made);
  if (g_rank == 0) {
    MADE("MPI_Comm_split", 0, 1, 0, members(1), g_world, 1, 3);
    release();
  } else {
    SAY("MPI_Comm_split", g_world, -32766, 3, 0, result, -1, 0, -1, 0);
  }
  result = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 2, MPI_INFO_NULL, &g_made);
  MADE("MPI_Comm_split_type", g_rank, 2, 0, members(2), g_world, MPI_COMM_TYPE_SHARED, 2, g_info);
  release();
}

static void of_groups(void) {
  const int last = 1;
  MPI_Group world, group;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &last, &group);
  int result = MPI_Comm_create(MPI_COMM_WORLD, group, &g_made);
  if (g_rank == 1) {
    MADE("MPI_Comm_create", 0, 1, 1, members_from(1, 1), g_world);
    release();
    result = MPI_Comm_create_group(MPI_COMM_WORLD, group, 9, &g_made);
    MADE("MPI_Comm_create_group", 0, 1, 1, members_from(1, 1), g_world, 9);
    release();
  } else {
    SAY("MPI_Comm_create", g_world, 0, result, -1, 0, -1, 0);
  }
  MPI_Group_free(&group);
  MPI_Group_free(&world);
}

static void topologies(void) {
  int sizes[2] = {2, 1}, periods[2] = {0, 1}, remain[2] = {1, 0}, index[2] = {1, 2},
      edges[2] = {1, 0}, sources[1], degree[1] = {1}; /* a weight, too */
  int result = MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periods, 0, &g_made);
  MADE("MPI_Cart_create", g_rank, 2, 0, members(2), g_world, 2, 2, 2, 1, 2, 0, 1, 0);
  MPI_Comm grid = g_made;
  result = MPI_Cart_sub(grid, remain, &g_made);
  MADE("MPI_Cart_sub", g_rank, 2, 0, members(2), of_comm(grid));
  release();
  g_made = grid;
  release();
  result = MPI_Graph_create(MPI_COMM_WORLD, 2, index, edges, 0, &g_made);
  MADE("MPI_Graph_create", g_rank, 2, 0, members(2), g_world, 2, 0);
  release();
  sources[0] = g_other;
  result = MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, degree, 1, sources, degree,
                                          MPI_INFO_NULL, 0, &g_made);
  MADE("MPI_Dist_graph_create_adjacent", g_rank, 2, 0, members(2), g_world, 1, 1, g_other, 1, 1,
       g_other, g_info, 0);
  release();
  /* Of one rank: of two, Open MPI 4 loses messages within this call, and hangs now and then. */
  sources[0] = 0;
  result = MPI_Dist_graph_create(MPI_COMM_SELF, 1, sources, degree, sources, degree, MPI_INFO_NULL,
                                 0, &g_made);
  MADE("MPI_Dist_graph_create", 0, 1, g_rank, members_from(g_rank, 1), of_comm(MPI_COMM_SELF), 1,
       g_info, 0);
  release();
}

/* Whom these order is not known: they say no leader. */
static void between(void) {
  int result = MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, g_other, 11, &g_made);
  MADE("MPI_Intercomm_create", 0, 1, kUnknownLeader, 0, of_comm(MPI_COMM_SELF), 0, g_world, g_other,
       11);
  MPI_Comm inter = g_made;
  int value = 0;
  int counts[1] = {1}, places[1] = {0};
  SAY("MPI_Alltoallv", -1, of_comm(inter),
      MPI_Alltoallv(&g_rank, counts, places, MPI_INT, &value, counts, places, MPI_INT, inter));
  result = MPI_Intercomm_merge(inter, g_rank, &g_made);
  MADE("MPI_Intercomm_merge", g_rank, 2, 0, members(2), of_comm(inter), g_rank);
  release();
  g_made = inter;
  release();
}

static void windows(void) {
  static int memory[2];
  void* base;
  MPI_Win window;
  long long word = 0;
  int result = MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  memcpy(&word, &window, sizeof window);
  SAY("MPI_Win_create", sizeof memory, 4, g_info, g_world, word, result);
  result = MPI_Win_free(&window);
  SAY("MPI_Win_free", word, result);
  result = MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  memcpy(&word, &window, sizeof window);
  SAY("MPI_Win_allocate", 8, 1, g_info, g_world, word, result);
  result = MPI_Win_free(&window);
  SAY("MPI_Win_free", word, result);
}

int main(int argc, char** argv) {
  if (!begin(&argc, &argv)) return 2;
  const MPI_Info none = MPI_INFO_NULL;
  memcpy(&g_info, &none, sizeof none);
  g_world = of_comm(MPI_COMM_WORLD);
  duplicates();
  splits();
  of_groups();
  topologies();
  between();
  windows();
  fclose(g_said);
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Finalize();
}
