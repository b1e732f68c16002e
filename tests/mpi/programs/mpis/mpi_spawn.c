/* Ranks that start another one, and then write a file with it that neither world holds alone.
 *   mpi_spawn FILE
 * Makes FILE on the communicator of both, FILE.parents on the world of the first alone. Rank 0
 * prints what cb_buffer_size each has. */
#include <mpi.h>
#include <stdio.h>

#define MUST(condition)                                            \
  do {                                                             \
    if (!(condition)) {                                            \
      fprintf(stderr, "mpi_spawn:%d: %s\n", __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 9);                                \
    }                                                              \
  } while (0)

static void write_mpiio(MPI_Comm comm, const char* path, const char* title) {
  int rank, found = 0, value;
  char hint[MPI_MAX_INFO_VAL + 1] = "";
  MPI_File file;
  MPI_Info info;
  MPI_Comm_rank(comm, &rank);
  value = 0x1000 + rank;
  MUST(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) == 0);
  MUST(MPI_File_write_at_all(file, rank * (MPI_Offset)sizeof value, &value, 1, MPI_INT,
                             MPI_STATUS_IGNORE) == 0);
  MUST(MPI_File_get_info(file, &info) == 0);
  MPI_Info_get(info, "cb_buffer_size", MPI_MAX_INFO_VAL, hint, &found);
  if (rank == 0) printf("%s cb_buffer_size %s\n", title, found ? hint : "-");
  MPI_Info_free(&info);
  MUST(MPI_File_close(&file) == 0);
}

int main(int argc, char** argv) {
  MPI_Comm parent, other, both;
  char name[1000];
  MUST(argc == 2 && MPI_Init(&argc, &argv) == 0);
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL) {
    MUST(MPI_Comm_spawn(argv[0], argv + 1, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other,
                        MPI_ERRCODES_IGNORE) == 0);
    MUST(MPI_Intercomm_merge(other, 0, &both) == 0);
    snprintf(name, sizeof name, "%s.parents", argv[1]);
    write_mpiio(MPI_COMM_WORLD, name, "parents");
  } else {
    MUST(MPI_Intercomm_merge(parent, 1, &both) == 0);
  }
  write_mpiio(both, argv[1], "both");
  MPI_Comm_free(&both);
  MPI_Finalize();
  return 0;
}
