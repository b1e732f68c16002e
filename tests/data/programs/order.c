/* Three ranks touch the same bytes, in orders of many kinds; the first has a child. */
#include <mpi.h>
#include <sys/wait.h>
#include <unistd.h>

static const int kBytes = 16, kRounds = 4;

static void messages(int rank, MPI_File file) {
  char bytes[16] = {0};
  int number = rank, flag = 0;
  MPI_Status status;
  for (int round = 0; round < kRounds; ++round) {
    const MPI_Offset at = (MPI_Offset)round * kBytes;
    if (rank == 0) {
      MPI_File_write_at(file, at, bytes, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
      MPI_Send(&number, 1, MPI_INT, 1, round, MPI_COMM_WORLD);
    } else if (rank == 1) {
      MPI_Request request;
      MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
      while (!flag) MPI_Test(&request, &flag, &status);
      flag = 0;
      MPI_File_read_at(file, at, bytes, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
    }
  }
}

static void collectives(int rank, MPI_File file) {
  char bytes[16] = {0};
  int number = rank, sum = 0, all[3] = {0};
  MPI_Comm part, copy;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 2, rank, &part);
  MPI_Comm_dup(part, &copy);
  if (rank == 1) MPI_File_write_at(file, 0, bytes, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_Bcast(&number, 1, MPI_INT, 0, copy);
  MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, copy);
  if (rank == 0) MPI_File_write_at(file, 0, bytes, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Request requests[2];
  MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
  MPI_Iallgather(&number, 1, MPI_INT, all, 1, MPI_INT, part, &requests[1]);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  if (rank == 2) MPI_File_read_at(file, 0, bytes, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_Exscan(&number, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&part);
}

int main(int argc, char** argv) {
  int rank;
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_File_open(MPI_COMM_WORLD, "order.bin", MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
  messages(rank, file);
  collectives(rank, file);
  MPI_File_close(&file);
  if (rank == 0) {
    const pid_t child = fork();
    if (child == 0) _exit(truncate("order.bin", kBytes));
    waitpid(child, NULL, 0);
  }
  MPI_Finalize();
  return 0;
}
