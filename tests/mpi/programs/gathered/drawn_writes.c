/* drawn_writes FILE SEED ROUNDS
 *
 * Ranks write small pieces of one file by drawn calls of MPI-IO, each byte by one rank at most, and
 * one rank writes bytes between them by POSIX. Every rank knows what must be where, from the seed:
 * what a rank has written it must read at once, and after the close all of it must be there.
 * What is wrong is one line
 * and an exit status of 1. */
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kCells = 600, kMostBytes = 40 };

static int rank, ranks;
static uint64_t state, own_state;

static uint64_t next(uint64_t* from) {
  *from = *from * 6364136223846793005u + 1442695040888963407u;
  return *from >> 33;
}
/* The same on all ranks. */
static int draw(int below) {
  return (int)(next(&state) % (uint64_t)below);
}
static int own_draw(int below) {
  return (int)(next(&own_state) % (uint64_t)below);
}

static unsigned char value_at(uint64_t version, long offset) {
  uint64_t word = version * 0x9e3779b97f4a7c15u + (uint64_t)offset * 0xbf58476d1ce4e5b9u;
  word ^= word >> 29;
  return (unsigned char)(word * 0x94d049bb133111ebu >> 56);
}

#define CHECK(call)                                                             \
  do {                                                                          \
    if ((call) != MPI_SUCCESS) {                                                \
      fprintf(stderr, "rank %d: " #call " failed (line %d)\n", rank, __LINE__); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                             \
    }                                                                           \
  } while (0)

/* The file is cells of `width` bytes; cell i belongs to who `owner` says: a rank, `ranks` for the
 * one that writes by POSIX, or nobody. */
static int width, layout;
static int owner(int cell) {
  switch (layout) {
    case 0:
      return cell % ranks; /* cyclic: filled */
    case 1:
      return cell / ((kCells + ranks - 1) / ranks); /* a part each: filled */
    case 2:
      return cell % (ranks + 1); /* holes that POSIX fills */
    case 3:
      return cell % 7 == 6 ? -1 : cell / 3 % ranks; /* holes, and uneven pieces */
    default:
      return (int)((uint64_t)cell * 2654435761u % 1000003 % (uint64_t)(ranks + 1));
  }
}

static unsigned char image[kCells * kMostBytes], known[kCells * kMostBytes];
static uint64_t version;

static MPI_File file;
static int unit = 1; /* bytes of the view's etype */
static long shift;   /* where the view begins */

static void write_cell(int cell) {
  const long offset = (long)cell * width;
  const int bytes = width;
  if ((offset - shift) % unit != 0 || bytes % unit != 0 || offset < shift) return;
  unsigned char data[kMostBytes];
  for (int i = 0; i < bytes; ++i) data[i] = value_at(version, offset + i);
  memcpy(image + offset, data, (size_t)bytes);
  memset(known + offset, 1, (size_t)bytes);
  MPI_Status status;
  MPI_Request request;
  int count = -1;
  const MPI_Offset at = (offset - shift) / unit;
  switch (own_draw(5)) {
    case 0:
      CHECK(MPI_File_seek(file, at, MPI_SEEK_SET));
      CHECK(MPI_File_write(file, data, bytes, MPI_BYTE, &status));
      MPI_Offset position = -1;
      CHECK(MPI_File_get_position(file, &position));
      if (position != at + bytes / unit) {
        fprintf(stderr, "rank %d: the pointer is at %lld\n", rank, (long long)position);
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
      break;
    case 1: {
      CHECK(MPI_File_iwrite_at(file, at, data, bytes, MPI_BYTE, &request));
      CHECK(MPI_Wait(&request, &status));
      break;
    }
    case 2: { /* every second byte of memory */
      unsigned char spread[2 * kMostBytes];
      for (int i = 0; i < bytes; ++i) spread[2 * i] = data[i];
      MPI_Datatype type;
      MPI_Type_vector(bytes, 1, 2, MPI_BYTE, &type);
      MPI_Type_commit(&type);
      CHECK(MPI_File_write_at(file, at, spread, 1, type, &status));
      MPI_Type_free(&type);
      break;
    }
    default:
      CHECK(MPI_File_write_at(file, at, data, bytes, MPI_BYTE, &status));
  }
  MPI_Get_count(&status, MPI_BYTE, &count);
  if (count != bytes) {
    fprintf(stderr, "rank %d: a status counts %d of %d bytes\n", rank, count, bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static void read_cell(int cell) {
  const long offset = (long)cell * width;
  unsigned char data[kMostBytes];
  memset(data, 0, sizeof data);
  if ((offset - shift) % unit != 0 || width % unit != 0 || offset < shift) return;
  CHECK(MPI_File_read_at(file, (offset - shift) / unit, data, width, MPI_BYTE, MPI_STATUS_IGNORE));
  for (int i = 0; i < width; ++i) {
    if (known[offset + i] && data[i] != image[offset + i]) {
      fprintf(stderr, "rank %d: byte %ld of its own is read as %d, not %d\n", rank, offset + i,
              data[i], image[offset + i]);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  state = strtoull(argv[2], NULL, 10) * 77 + 1;
  const int rounds = atoi(argv[3]);
  for (int i = 0; i < 20; ++i) draw(2);
  own_state = state + (uint64_t)rank * 1000003;
  width = 1 + draw(kMostBytes);
  layout = draw(5);
  if (rank == 0) unlink(argv[1]);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  CHECK(MPI_File_open(comm, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  MPI_Comm_free(&comm);
  const int fd = open(argv[1], O_WRONLY);
  if (fd < 0) MPI_Abort(MPI_COMM_WORLD, 3);
  for (int round = 0; round < rounds; ++round) {
    version = (uint64_t)round + 1;
    const int first = draw(kCells), cells = 1 + draw(kCells);
    for (int i = 0; i < cells; ++i) {
      const int cell = (first + i) % kCells;
      if (owner(cell) == rank) {
        write_cell(cell);
        if (own_draw(50) == 0) read_cell(cell);
        if (own_draw(60) == 0) write_cell(cell);
      } else if (owner(cell) == ranks && rank == 0) {
        unsigned char data[kMostBytes];
        for (int k = 0; k < width; ++k) data[k] = value_at(version, (long)cell * width + k);
        if (pwrite(fd, data, (size_t)width, (off_t)cell * width) != width) return 3;
        memcpy(image + (long)cell * width, data, (size_t)width);
        memset(known + (long)cell * width, 1, (size_t)width);
      }
    }
    switch (draw(9)) {
      case 0:
        CHECK(MPI_File_sync(file));
        break;
      case 1: {
        const int units[] = {1, 4, 8};
        unit = units[draw(3)];
        shift = draw(3) * 8;
        const MPI_Datatype types[] = {MPI_BYTE, MPI_INT, MPI_DOUBLE};
        const MPI_Datatype type = types[unit == 1 ? 0 : unit == 4 ? 1 : 2];
        CHECK(MPI_File_set_view(file, shift, type, type, "native", MPI_INFO_NULL));
        break;
      }
      case 2:
        CHECK(MPI_File_set_atomicity(file, draw(2)));
        break;
      case 3: {
        MPI_Offset bytes = 0;
        CHECK(MPI_File_get_size(file, &bytes));
        MPI_Barrier(MPI_COMM_WORLD);
        break;
      }
      case 4:
        CHECK(MPI_File_set_size(file, (MPI_Offset)kCells * kMostBytes));
        break;
      case 5: {
        char nothing = 0;
        CHECK(MPI_File_write_at_all(file, 0, &nothing, 0, MPI_BYTE, MPI_STATUS_IGNORE));
        break;
      }
      case 6: {
        CHECK(MPI_File_close(&file));
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR, MPI_INFO_NULL, &file));
        unit = 1;
        shift = 0;
        break;
      }
      default:
        break;
    }
  }
  CHECK(MPI_File_close(&file));
  close(fd);
  MPI_Barrier(MPI_COMM_WORLD);
  const int got = open(argv[1], O_RDONLY);
  static unsigned char all[kCells * kMostBytes];
  if (got < 0 || pread(got, all, sizeof all, 0) < 0) MPI_Abort(MPI_COMM_WORLD, 3);
  int wrong = 0;
  for (long i = 0; i < (long)sizeof all && wrong == 0; ++i) {
    if (!known[i] || all[i] == image[i]) continue;
    fprintf(stderr, "rank %d: byte %ld is %d in the file, not %d (layout %d, width %d)\n", rank, i,
            all[i], image[i], layout, width);
    wrong = 1;
  }
  MPI_Finalize();
  return wrong;
}
