/* A signal handler leaves MPI_File_open by siglongjmp before MPI has begun; the program goes on.
 *   mpi_jump FILE     SIGALRM is sent by tests/mpi/programs/stand_ins/one_thread_database.c */
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

static sigjmp_buf back;

static void leave(int signal) {
  (void)signal;
  siglongjmp(back, 1);
}

int main(int argc, char** argv) {
  MPI_File file;
  if (argc != 2 || MPI_Init(&argc, &argv) != 0) return 1;
  signal(SIGALRM, leave);
  const int jumped = sigsetjmp(back, 1);
  for (int i = 0; i < 3; ++i) {
    if (MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                      &file) != 0)
      return 2;
    if (MPI_File_write_at(file, i, "x", 1, MPI_BYTE, MPI_STATUS_IGNORE) != 0) return 3;
    if (MPI_File_close(&file) != 0) return 4;
  }
  printf("jumped %d\n", jumped);
  MPI_Finalize();
  return 0;
}
