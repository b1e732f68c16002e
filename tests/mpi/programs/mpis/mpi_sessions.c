/* Writes a file through MPI-IO on a communicator that comes of an MPI session.
 *   mpi_sessions FILE [world]
 * With "world" MPI_Init is called as well, and a second file, FILE.world, is written on
 * MPI_COMM_WORLD. Without it MPICH's MPI_File_open fails: there the ranks write by themselves.
 * Rank 0 prints which way it was. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MUST(condition)                                               \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "mpi_sessions:%d: %s\n", __LINE__, #condition); \
      return 9;                                                       \
    }                                                                 \
  } while (0)

static int write_file(MPI_Comm comm, const char* name) {
  int rank;
  char bytes[100];
  const int amode = MPI_MODE_CREATE | MPI_MODE_RDWR;
  MPI_File file;
  MPI_Comm_rank(comm, &rank);
  memset(bytes, 'a' + rank, sizeof bytes);
  if (MPI_File_open(comm, name, amode, MPI_INFO_NULL, &file) != 0) {
    const int fd = open(name, O_CREAT | O_WRONLY, 0600);
    MUST(fd >= 0 && pwrite(fd, bytes, sizeof bytes, 100 * rank) == sizeof bytes);
    MUST(close(fd) == 0);
    if (rank == 0) puts("by itself");
    return 0;
  }
  if (rank == 0) puts("through MPI-IO");
  MUST(MPI_File_write_at_all(file, 100 * rank, bytes, 100, MPI_BYTE, MPI_STATUS_IGNORE) == 0);
  MUST(MPI_File_close(&file) == 0);
  return 0;
}

int main(int argc, char** argv) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  const int with_world = argc == 3 && strcmp(argv[2], "world") == 0;
  MUST(argc >= 2);
  if (with_world) MUST(MPI_Init(&argc, &argv) == 0);
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == 0);
  MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &group) == 0);
  MUST(MPI_Comm_create_from_group(group, "iotune-test", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) ==
       0);
  MUST(write_file(comm, argv[1]) == 0);
  if (with_world) {
    char name[1000];
    snprintf(name, sizeof name, "%s.world", argv[1]);
    MUST(write_file(MPI_COMM_WORLD, name) == 0);
  }
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  MUST(MPI_Session_finalize(&session) == 0);
  if (with_world) MPI_Finalize();
  return 0;
}
