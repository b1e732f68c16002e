/* piece_writes WAY FILE PIECES BYTES
 *
 * Each rank writes PIECES pieces of BYTES bytes by MPI_File_write_at: "cyclic" and "large" in turn
 * with the others, "part" all of its own behind each other, "ior" four of its own in each segment,
 * "columns" in turn with the others, through a view with holes. Rank 0 prints seconds from the open
 * to the slowest rank's return from the close. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 5) MPI_Abort(MPI_COMM_WORLD, 2);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const long pieces = atol(argv[3]);
  const int bytes = atoi(argv[4]);
  const int is_part = strcmp(argv[1], "part") == 0, is_ior = strcmp(argv[1], "ior") == 0;
  const int is_columns = strcmp(argv[1], "columns") == 0;
  char* const piece = malloc((size_t)bytes);
  if (rank == 0) MPI_File_delete(argv[2], MPI_INFO_NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  MPI_File file;
  if (MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                    &file) != MPI_SUCCESS) {
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (is_columns) {
    MPI_Datatype cell, row;
    MPI_Type_contiguous(bytes, MPI_BYTE, &cell);
    MPI_Type_create_resized(cell, 0, (MPI_Aint)bytes * ranks, &row);
    MPI_Type_commit(&row);
    MPI_File_set_view(file, (MPI_Offset)rank * bytes, MPI_BYTE, row, "native", MPI_INFO_NULL);
    MPI_Type_free(&row);
    MPI_Type_free(&cell);
  }
  for (long i = 0; i < pieces; ++i) {
    memset(piece, (int)(i * 31 + rank), (size_t)bytes);
    const MPI_Offset at = is_part      ? rank * pieces + i
                          : is_columns ? i
                          : is_ior     ? (i / 4 * ranks + rank) * 4 + i % 4
                                       : i * ranks + rank;
    if (MPI_File_write_at(file, at * bytes, piece, bytes, MPI_BYTE, MPI_STATUS_IGNORE) !=
        MPI_SUCCESS) {
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  if (MPI_File_close(&file) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
  double seconds = MPI_Wtime() - began, slowest = 0;
  MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%.6f\n", slowest);
  MPI_Finalize();
  return 0;
}
