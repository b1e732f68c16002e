/* Starts MPI, writes a file by itself, ends MPI. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int MPI_Init(int* argc, char*** argv);
int MPI_Finalize(void);
int MPI_Comm_rank(int comm, int* rank);

int main(int argc, char** argv) {
  static char block[8192];
  const char* const own = getenv("MOCK_MPI_WORLD");
  const int world = own != NULL ? (int)strtol(own, NULL, 0) : 0x44000000;
  int rank = -1;
  if (argc < 2 || MPI_Init(&argc, &argv) != 0 || MPI_Comm_rank(world, &rank) != 0) return 2;
  const int fd = open(argv[1], O_CREAT | O_WRONLY | O_TRUNC, 0600);
  if (fd < 0 || write(fd, block, sizeof block) != sizeof block || close(fd) != 0) return 3;
  printf("rank %d fine\n", rank);
  return MPI_Finalize();
}
