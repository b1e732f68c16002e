#include "fs_test_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run_failure.h"

void fs_fail(const char* file, const char* what) {
  run_fail("fs-test", file, what);
}

static void must(const struct fs_file* file, int code) {
  run_need("fs-test", code, file->path, "MPI-IO failed");
}

static void open_mpiio(struct fs_file* file, MPI_Comm comm, bool write) {
  const int mode = write ? MPI_MODE_CREATE | MPI_MODE_WRONLY : MPI_MODE_RDONLY;
  must(file, MPI_File_open(comm, file->path, mode, MPI_INFO_NULL, &file->handle));
}

void fs_file_open(struct fs_file* file, MPI_Comm comm, bool write) {
  if (file->mpiio) {
    open_mpiio(file, comm, write);
    return;
  }
  file->descriptor = open(file->path, write ? O_WRONLY | O_CREAT : O_RDONLY, 0666);
  if (file->descriptor < 0) fs_fail(file->path, strerror(errno));
}

static void ends_early(const struct fs_file* file, int64_t offset) {
  char text[64];
  snprintf(text, sizeof text, "it ends before byte %lld", (long long)offset);
  fs_fail(file->path, text);
}

static void must_be_whole(const struct fs_file* file, const MPI_Status* status, int64_t offset,
                          int64_t size) {
  int moved;
  must(file, MPI_Get_count(status, MPI_BYTE, &moved));
  if (moved != size) ends_early(file, offset + size);
}

void fs_file_write(struct fs_file* file, int64_t offset, const unsigned char* bytes, int64_t size) {
  if (file->mpiio) {
    MPI_Status status;
    must(file,
         file->collective
             ? MPI_File_write_at_all(file->handle, offset, bytes, (int)size, MPI_BYTE, &status)
             : MPI_File_write_at(file->handle, offset, bytes, (int)size, MPI_BYTE, &status));
    return;
  }
  while (size > 0) {
    const ssize_t moved = pwrite(file->descriptor, bytes, (size_t)size, offset);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) fs_fail(file->path, strerror(errno));
    bytes += moved;
    offset += moved;
    size -= moved;
  }
}

void fs_file_read(struct fs_file* file, int64_t offset, unsigned char* bytes, int64_t size) {
  if (file->mpiio) {
    MPI_Status status;
    must(file, file->collective
                   ? MPI_File_read_at_all(file->handle, offset, bytes, (int)size, MPI_BYTE, &status)
                   : MPI_File_read_at(file->handle, offset, bytes, (int)size, MPI_BYTE, &status));
    must_be_whole(file, &status, offset, size);
    return;
  }
  while (size > 0) {
    const ssize_t moved = pread(file->descriptor, bytes, (size_t)size, offset);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) fs_fail(file->path, strerror(errno));
    if (moved == 0) ends_early(file, offset + size);
    bytes += moved;
    offset += moved;
    size -= moved;
  }
}

void fs_file_sync(struct fs_file* file) {
  if (file->mpiio)
    must(file, MPI_File_sync(file->handle));
  else if (fsync(file->descriptor) != 0)
    fs_fail(file->path, strerror(errno));
}

void fs_file_close(struct fs_file* file) {
  if (file->mpiio)
    must(file, MPI_File_close(&file->handle));
  else if (close(file->descriptor) != 0)
    fs_fail(file->path, strerror(errno));
}
