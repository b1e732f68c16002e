/* What the small programs of this folder share. Each is started as
 *   PROGRAM race|ordered FILE
 * and moves a few bytes of one file; tests/python/verify/expected.toml says
 * which of its pairs of calls conflict and how they are ordered. Rank 0 is the
 * writer and rank 1 the reader. What the reader gets is never looked at: in a
 * race it may be anything. */
#pragma once

#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUST(condition)                                               \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 9);                                   \
    }                                                                 \
  } while (0)

enum { kBytes = 8, kTag = 5, kAnswerTag = 6 };

/* Whether this is the program without the race. */
static inline int is_ordered(int argc, char** argv) {
  if (argc != 3 || (strcmp(argv[1], "race") != 0 && strcmp(argv[1], "ordered") != 0)) {
    fprintf(stderr, "usage: %s race|ordered FILE\n", argv[0]);
    exit(2);
  }
  return strcmp(argv[1], "ordered") == 0;
}

static inline int start(int* argc, char*** argv) {
  int rank;
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

static inline int open_file(const char* path) {
  const int file = open(path, O_CREAT | O_RDWR, 0600);
  MUST(file >= 0);
  return file;
}

static inline void write_bytes(int file, long offset) {
  char bytes[kBytes];
  memset(bytes, 'w', kBytes);
  MUST(pwrite(file, bytes, kBytes, offset) == kBytes);
}

static inline void read_bytes(int file, long offset) {
  char bytes[kBytes];
  MUST(pread(file, bytes, kBytes, offset) >= 0);
}

static inline MPI_File open_mpi_file(MPI_Comm comm, const char* path) {
  MPI_File file;
  MUST(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) ==
       MPI_SUCCESS);
  return file;
}

static inline void write_mpi_bytes(MPI_File file, MPI_Offset offset) {
  char bytes[kBytes];
  MPI_Status status;
  memset(bytes, 'w', kBytes);
  MUST(MPI_File_write_at(file, offset, bytes, kBytes, MPI_BYTE, &status) == MPI_SUCCESS);
}

static inline void read_mpi_bytes(MPI_File file, MPI_Offset offset) {
  char bytes[kBytes];
  MPI_Status status;
  MUST(MPI_File_read_at(file, offset, bytes, kBytes, MPI_BYTE, &status) == MPI_SUCCESS);
}

static inline void send_word(int rank, int tag, MPI_Comm comm) {
  int word = 1;
  MPI_Send(&word, 1, MPI_INT, rank, tag, comm);
}

static inline void receive_word(int rank, int tag, MPI_Comm comm) {
  int word = 0;
  MPI_Recv(&word, 1, MPI_INT, rank, tag, comm, MPI_STATUS_IGNORE);
}
