/* What drawn programs of gathered files share: the draws, the files' cells, and who owns them. */
#pragma once
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kCells = 400, kMostBytes = 40, kTailCells = 64 };
enum { kSpan = kCells * kMostBytes, kAll = kSpan + kTailCells * kMostBytes };

#define CHECK(call)                                                                       \
  do {                                                                                    \
    if ((call) != MPI_SUCCESS) {                                                          \
      fprintf(stderr, "seed %d, rank %d: " #call " failed (line %d)\n", seed, world_rank, \
              __LINE__);                                                                  \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                       \
    }                                                                                     \
  } while (0)

static int world_rank, world_ranks, seed;
static uint64_t state, own_state;

static uint64_t next(uint64_t* from) {
  *from = *from * 6364136223846793005u + 1442695040888963407u;
  return *from >> 33;
}
/* The same on all ranks of the job. */
static int draw(int below) {
  return (int)(next(&state) % (uint64_t)below);
}
static int own_draw(int below) {
  return (int)(next(&own_state) % (uint64_t)below);
}

/* A file: cells of `width` bytes, and behind them cells for calls at the shared pointer. Each cell
 * has the version that this rank wrote last, or knows that others have. */
typedef struct {
  char name[512];
  int width, layout, writers, posix, rotation, filled;
  int last[kCells + kTailCells];
} Disk;

static long place_of(const Disk* disk, int cell) {
  return cell < kCells ? (long)cell * disk->width : kSpan + (long)(cell - kCells) * kMostBytes;
}

/* Who may write it: a writer's number, `writers` for who writes by POSIX, -1 nobody. */
static int owner(const Disk* disk, int cell) {
  const int all = disk->writers + disk->posix;
  int who;
  switch (disk->layout) {
    case 0:
      who = cell % all;
      break;
    case 1:
      who = cell / ((kCells + all - 1) / all);
      break;
    case 2:
      if (cell % 7 == 6) return -1;
      who = cell / 3 % all;
      break;
    default:
      who = (int)((uint64_t)cell * 2654435761u % 1000003 % (uint64_t)(all + 1));
      if (who == all) return -1;
  }
  return (who + disk->rotation) % all;
}

static unsigned char value_at(int version, long offset) {
  uint64_t word = (uint64_t)version * 0x9e3779b97f4a7c15u + (uint64_t)offset * 0xbf58476d1ce4e5b9u;
  word ^= word >> 29;
  return (unsigned char)(word * 0x94d049bb133111ebu >> 56);
}

/* The bytes of a cell, as a version has them. */
static void fill(const Disk* disk, int cell, int version, unsigned char* to) {
  for (int i = 0; i < disk->width; ++i) to[i] = value_at(version, place_of(disk, cell) + i);
}
