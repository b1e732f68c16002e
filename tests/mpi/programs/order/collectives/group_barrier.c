/* A barrier of a group that made a communicator by itself: of writer and
 * reader, or of the writer and rank 2. The other rank calls nothing of it. */
#include "../order.h"

int main(int argc, char** argv) {
  const int ordered = is_ordered(argc, argv), rank = start(&argc, &argv);
  const int file = open_file(argv[2]);
  const int ranks[] = {ordered ? 1 : 2, 0}; /* the writer has rank 1 in it */
  MPI_Group world, group;
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 2, ranks, &group);
  if (rank == ranks[0] || rank == ranks[1]) {
    MPI_Comm_create_group(MPI_COMM_WORLD, group, kTag, &part);
  }
  if (rank == 0) {
    write_bytes(file, 0);
    fsync(file);
  }
  if (part != MPI_COMM_NULL) {
    MPI_Barrier(part);
    MPI_Comm_free(&part);
  }
  if (rank == 1) read_bytes(file, 0);
  close(file);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  MPI_Finalize();
  return 0;
}
