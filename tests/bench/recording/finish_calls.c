/* finish_calls SHAPE CALLS FILES SECONDS FOLDER: what bench_finish.py runs. Each rank makes CALLS
 * writes of 16 bytes, by MPI-IO, to shared files in FOLDER (FILES of them, one after the other),
 * and then computes for SECONDS. SHAPE: regular, irregular (ever farther on, by drawn steps) or
 * random (anywhere). Writes the moment at which its work is done to FOLDER/last.RANK, nanoseconds
 * of CLOCK_MONOTONIC. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kBytes = 16 };

static uint64_t g_drawn = 88172645463325252u;
static uint64_t drawn(void) {
  g_drawn ^= g_drawn << 13;
  g_drawn ^= g_drawn >> 7;
  g_drawn ^= g_drawn << 17;
  return g_drawn;
}

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int main(int count, char** words) {
  if (count != 6) return 2;
  MPI_Init(&count, &words);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  g_drawn += (uint64_t)rank;
  const char shape = words[1][0] == 'r' && words[1][1] == 'a' ? 'x' : words[1][0];
  const long calls = atol(words[2]), files = atol(words[3]);
  static char bytes[kBytes];
  for (long f = 0; f < files; ++f) {
    char name[4096];
    snprintf(name, sizeof name, "%s/out_%c%06ld.dat", words[5], shape, f);
    MPI_File file;
    if (MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                      &file) != MPI_SUCCESS) {
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
    uint64_t at = (uint64_t)rank * kBytes;
    for (long i = 0; i < calls / files; ++i) {
      MPI_File_write_at(file, (MPI_Offset)at, bytes, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
      if (shape == 'r') at += (uint64_t)ranks * kBytes;
      if (shape == 'i') at += (1 + drawn() % 5) * kBytes;
      if (shape == 'x') at = drawn() % 20000 * kBytes;
    }
    MPI_File_close(&file);
  }
  const uint64_t until = now_ns() + (uint64_t)(atof(words[4]) * 1e9);
  while (now_ns() < until) {
  }
  const uint64_t last = now_ns();
  char name[4096];
  snprintf(name, sizeof name, "%s/last.%d", words[5], rank);
  FILE* const said = fopen(name, "w");
  fprintf(said, "%llu\n", (unsigned long long)last);
  fclose(said);
  MPI_Finalize();
  return 0;
}
