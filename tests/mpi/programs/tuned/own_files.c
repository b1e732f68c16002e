/* Each rank writes a file of its own through MPI-IO, on MPI_COMM_SELF.
 *   own_files [FIRST [NARROWED]]
 * Ranks below FIRST (0) write none. Rank NARROWED then installs a filter for its system calls. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

int main(int argc, char** argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank >= (argc > 1 ? atoi(argv[1]) : 0)) {
    char name[32];
    char bytes[8192] = {0};
    MPI_File file;
    snprintf(name, sizeof name, "part%d.bin", rank);
    if (MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                      &file) != MPI_SUCCESS ||
        MPI_File_write_at(file, 0, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE) !=
            MPI_SUCCESS ||
        MPI_File_close(&file) != MPI_SUCCESS) {
      fprintf(stderr, "own_files: rank %d cannot write %s\n", rank, name);
      MPI_Abort(MPI_COMM_WORLD, 9);
    }
  }
  if (argc > 2 && rank == atoi(argv[2])) {
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {1, &allow};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
      MPI_Abort(MPI_COMM_WORLD, 4);
    }
  }
  MPI_Finalize();
  return 0;
}
