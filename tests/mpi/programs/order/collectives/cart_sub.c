/* A barrier on the lines of a grid: writer and reader lie in one line, or in
 * two. Four ranks, of which 2 and 3 do nothing else. */
#include "../order.h"

int main(int argc, char** argv) {
  const int ordered = is_ordered(argc, argv), rank = start(&argc, &argv);
  const int file = open_file(argv[2]);
  const int extents[] = {2, 2}, periods[] = {0, 0};
  const int keeps[] = {!ordered, ordered}; /* ranks 0 and 1, or 0 and 2 */
  MPI_Comm grid, line;
  MPI_Cart_create(MPI_COMM_WORLD, 2, extents, periods, 0, &grid);
  MPI_Cart_sub(grid, keeps, &line);
  if (rank == 0) {
    write_bytes(file, 0);
    fsync(file);
  }
  MPI_Barrier(line);
  if (rank == 1) read_bytes(file, 0);
  close(file);
  MPI_Comm_free(&line);
  MPI_Comm_free(&grid);
  MPI_Finalize();
  return 0;
}
