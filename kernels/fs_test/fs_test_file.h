/* A file of fs-test through POSIX or MPI-IO. Every failure ends the run: a message with the file's
 * name, then MPI_Abort with status 1, because the other ranks may be waiting. */
#ifndef IOTUNE_FS_TEST_FILE_H
#define IOTUNE_FS_TEST_FILE_H

#include <limits.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

struct fs_file {
  char path[PATH_MAX];
  bool mpiio, collective;
  int descriptor;
  MPI_File handle;
};

_Noreturn void fs_fail(const char* file, const char* what);

/* `comm`: the ranks that open it together, which MPI-IO needs. Made where it is not there. */
void fs_file_open(struct fs_file* file, MPI_Comm comm, bool write);

/* The whole of `size` bytes. Collective: with size 0 a rank only takes part. */
void fs_file_write(struct fs_file* file, int64_t offset, const unsigned char* bytes, int64_t size);
void fs_file_read(struct fs_file* file, int64_t offset, unsigned char* bytes, int64_t size);

void fs_file_sync(struct fs_file* file);
void fs_file_close(struct fs_file* file);

#endif
