/* Transfers that one call begins and another completes: POSIX aio, lio_listio,
 * and MPI-IO's non-blocking and split ones, alone and of all ranks.
 * Usage: mpirun -n N async_io_forms DIR */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH = 4, ROUNDS = 6, PIECE = 1000 };
static int rank, size;
static char data[DEPTH][PIECE];

static struct aiocb at(int fd, int k, off_t offset) {
  struct aiocb request;
  memset(&request, 0, sizeof request);
  request.aio_fildes = fd;
  request.aio_buf = data[k];
  request.aio_nbytes = (size_t)(PIECE - k);
  request.aio_offset = offset;
  return request;
}

static void await(struct aiocb* request) {
  const struct aiocb* list[1] = {request};
  while (aio_error(request) == EINPROGRESS) aio_suspend(list, 1, NULL);
  if (aio_return(request) < 0) MPI_Abort(MPI_COMM_WORLD, 4);
}

static void by_aio(const char* dir) {
  char path[512];
  struct aiocb request[DEPTH], *list[DEPTH];
  snprintf(path, sizeof path, "%s/aio-%d", dir, rank);
  int fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);
  for (int round = 0; round < ROUNDS; round++) {
    for (int k = 0; k < DEPTH; k++) {
      request[k] = at(fd, k, (off_t)(round * DEPTH + k) * PIECE);
      if (aio_write(&request[k]) != 0) MPI_Abort(MPI_COMM_WORLD, 3);
    }
    for (int k = DEPTH - 1; k >= 0; k--) await(&request[k]); /* not in their order */
  }
  for (int k = 0; k < DEPTH; k++) {
    request[k] = at(fd, k, (off_t)k * PIECE);
    request[k].aio_lio_opcode = LIO_READ;
    list[k] = &request[k];
  }
  if (lio_listio(LIO_WAIT, list, DEPTH, NULL) != 0) MPI_Abort(MPI_COMM_WORLD, 3);
  for (int k = 0; k < DEPTH; k++) await(&request[k]);
  close(fd);
}

static void by_requests(const char* dir) {
  char path[512];
  MPI_File file;
  MPI_Request request[DEPTH];
  MPI_Status statuses[DEPTH];
  snprintf(path, sizeof path, "%s/requests", dir);
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  for (int round = 0; round < ROUNDS; round++) {
    for (int k = 0; k < DEPTH; k++)
      MPI_File_iwrite_at(file, (MPI_Offset)((round * DEPTH + k) * size + rank) * PIECE, data[k],
                         PIECE - k, MPI_BYTE, &request[k]);
    MPI_Waitall(DEPTH, request, statuses);
  }
  MPI_File_sync(file);
  for (int k = 0; k < DEPTH; k++)
    MPI_File_iread_at(file, (MPI_Offset)(k * size + rank) * PIECE, data[k], PIECE - k, MPI_BYTE,
                      &request[k]);
  MPI_Waitall(DEPTH, request, statuses);
  MPI_File_iwrite_at_all(file, (MPI_Offset)(1000 + rank) * PIECE, data[0], PIECE, MPI_BYTE,
                         &request[0]);
  MPI_Wait(&request[0], MPI_STATUS_IGNORE);
  MPI_File_write_at_all_begin(file, (MPI_Offset)(2000 + rank) * PIECE, data[0], PIECE, MPI_BYTE);
  MPI_File_write_at_all_end(file, data[0], MPI_STATUS_IGNORE);
  MPI_File_seek(file, (MPI_Offset)(2000 + rank) * PIECE, MPI_SEEK_SET);
  MPI_File_read_all_begin(file, data[0], PIECE, MPI_BYTE);
  MPI_File_read_all_end(file, data[0], MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  by_aio(argv[1]);
  by_requests(argv[1]);
  MPI_Finalize();
  return 0;
}
