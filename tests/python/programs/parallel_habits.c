// Ways of doing I/O with MPI-IO that `iotune advise` has a finding for, each beside a way that has
// none: parallel_habits HABIT [good]. Files are made in the current directory.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 4096, PIECES = 512, LARGE = 1 << 20 };

static char buffer[LARGE * 4];
static int rank, ranks;

static void demand(int error, const char* what) {
  if (error != MPI_SUCCESS) {
    fprintf(stderr, "%s: error %d\n", what, error);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static MPI_File opened(const char* name, int mode) {
  MPI_File file;
  demand(MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &file), "MPI_File_open");
  return file;
}

static void written(MPI_File file, MPI_Offset at, int bytes) {
  demand(MPI_File_write_at(file, at, buffer, bytes, MPI_BYTE, MPI_STATUS_IGNORE), "write_at");
}

// Pieces of the ranks in turns.
static void independent(int good) {
  MPI_File file = opened("out.bin", MPI_MODE_CREATE | MPI_MODE_WRONLY);
  if (good) {
    MPI_Datatype tiles;
    MPI_Type_vector(PIECES, PIECE, PIECE * ranks, MPI_BYTE, &tiles);
    MPI_Type_commit(&tiles);
    MPI_File_set_view(file, (MPI_Offset)PIECE * rank, MPI_BYTE, tiles, "native", MPI_INFO_NULL);
    demand(MPI_File_write_all(file, buffer, PIECE * PIECES, MPI_BYTE, MPI_STATUS_IGNORE), "all");
    MPI_Type_free(&tiles);
  } else {
    for (int k = 0; k < PIECES; ++k) {
      written(file, ((MPI_Offset)k * ranks + rank) * PIECE, PIECE);
    }
  }
  MPI_File_close(&file);
}

// The same collectively, and a hint that keeps MPI-IO from gathering.
static void ungathered(int good) {
  MPI_Info info;
  MPI_Info_create(&info);
  if (!good) {
    MPI_Info_set(info, "romio_cb_write", "disable");
    MPI_Info_set(info, "romio_ds_write", "disable");
  }
  MPI_File file;
  demand(MPI_File_open(MPI_COMM_WORLD, "out.bin", MPI_MODE_CREATE | MPI_MODE_WRONLY, info, &file),
         "MPI_File_open");
  MPI_Datatype tiles;
  MPI_Type_vector(PIECES, PIECE, PIECE * ranks, MPI_BYTE, &tiles);
  MPI_Type_commit(&tiles);
  MPI_File_set_view(file, (MPI_Offset)PIECE * rank, MPI_BYTE, tiles, "native", MPI_INFO_NULL);
  demand(MPI_File_write_all(file, buffer, PIECE * PIECES, MPI_BYTE, MPI_STATUS_IGNORE), "all");
  MPI_Type_free(&tiles);
  MPI_Info_free(&info);
  MPI_File_close(&file);
}

static void one_rank(int good) {
  MPI_File file = opened("out.bin", MPI_MODE_CREATE | MPI_MODE_WRONLY);
  for (int k = 0; k < 32; ++k) {
    if (good ? k % ranks == rank : rank == 0) {
      written(file, (MPI_Offset)k * LARGE, LARGE);
    }
  }
  MPI_File_close(&file);
}

static void imbalance(int good) {
  MPI_File file = opened("out.bin", MPI_MODE_CREATE | MPI_MODE_WRONLY);
  int mine = good || rank == 0 ? 24 : 2;
  for (int k = 0; k < mine; ++k) {
    written(file, ((MPI_Offset)rank * 24 + k) * LARGE, LARGE);
  }
  MPI_File_close(&file);
}

static void file_per_rank(int good) {
  MPI_Comm whose = good ? MPI_COMM_WORLD : MPI_COMM_SELF;
  for (int step = 0; step < 40; ++step) {
    char name[64];
    MPI_File file;
    snprintf(name, sizeof name, "out.%03d.%03d.bin", step, good ? 0 : rank);
    demand(MPI_File_open(whose, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file),
           "MPI_File_open");
    written(file, good ? (MPI_Offset)rank * LARGE / 4 : 0, LARGE / 4);
    MPI_File_close(&file);
  }
}

static void read_by_all(int good) {
  MPI_File file = opened("in.bin", MPI_MODE_CREATE | MPI_MODE_RDWR);
  if (rank == 0) {
    written(file, 0, LARGE * 4);
  }
  demand(MPI_File_sync(file), "sync");
  MPI_Barrier(MPI_COMM_WORLD);
  if (good) {
    demand(MPI_File_read_at(file, (MPI_Offset)rank * LARGE, buffer, LARGE, MPI_BYTE,
                            MPI_STATUS_IGNORE),
           "read_at");
  } else {
    demand(MPI_File_read_at(file, 0, buffer, 4 * LARGE, MPI_BYTE, MPI_STATUS_IGNORE), "read_at");
  }
  MPI_File_close(&file);
}

static void write_by_all(int good) {
  MPI_File file = opened("out.bin", MPI_MODE_CREATE | MPI_MODE_WRONLY);
  written(file, good ? (MPI_Offset)rank * LARGE : 0, good ? LARGE : 4 * LARGE);
  MPI_File_close(&file);
}

// Two ranks write the same eight bytes, or one of them does.
static void header_by_two(int good) {
  MPI_File file = opened("out.bin", MPI_MODE_CREATE | MPI_MODE_WRONLY);
  written(file, (MPI_Offset)(rank + 1) * LARGE, LARGE);
  if (rank == 0 || (rank == 1 && !good)) written(file, 4096, 8);
  MPI_File_close(&file);
}

// Each rank writes every second piece of a part of its own: data sieving reads and writes the rest.
static void sieving(int good) {
  MPI_File file = opened("out.bin", MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Offset part = (MPI_Offset)rank * LARGE;
  // Else what is read would hang on how far the others are.
  demand(MPI_File_set_size(file, (MPI_Offset)ranks * LARGE), "set_size");
  if (good) {
    written(file, part, LARGE);
  } else {
    MPI_Datatype tiles;
    MPI_Type_vector(LARGE / 1024, 512, 1024, MPI_BYTE, &tiles);
    MPI_Type_commit(&tiles);
    MPI_File_set_view(file, part, MPI_BYTE, tiles, "native", MPI_INFO_NULL);
    for (int k = 0; k < 8; ++k) {
      demand(MPI_File_write_at(file, (MPI_Offset)k * LARGE / 16, buffer, LARGE / 16, MPI_BYTE,
                               MPI_STATUS_IGNORE),
             "write_at");
    }
    MPI_Type_free(&tiles);
  }
  MPI_File_close(&file);
}

static void unaligned(int good) {
  MPI_File file = opened("out.bin", MPI_MODE_CREATE | MPI_MODE_WRONLY);
  for (int k = 0; k < 16; ++k) {
    written(file, ((MPI_Offset)k * ranks + rank) * LARGE + (good ? 0 : 100), LARGE);
  }
  MPI_File_close(&file);
}

static void shared_pointer(int good) {
  MPI_File file = opened("out.bin", MPI_MODE_CREATE | MPI_MODE_WRONLY);
  for (int k = 0; k < 100; ++k) {
    if (good) {
      written(file, ((MPI_Offset)rank * 100 + k) * 65536, 65536);
    } else {
      demand(MPI_File_write_shared(file, buffer, 65536, MPI_BYTE, MPI_STATUS_IGNORE), "shared");
    }
  }
  MPI_File_close(&file);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(int good);
  } habits[] = {
      {"independent", independent},
      {"ungathered", ungathered},
      {"one-rank", one_rank},
      {"imbalance", imbalance},
      {"file-per-rank", file_per_rank},
      {"read-by-all", read_by_all},
      {"write-by-all", write_by_all},
      {"sieving", sieving},
      {"header-by-two", header_by_two},
      {"unaligned", unaligned},
      {"shared-pointer", shared_pointer},
  };
  int good = argc > 2 && strcmp(argv[2], "good") == 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  memset(buffer, rank + 1, sizeof buffer);
  int found = 0;
  for (size_t k = 0; argc > 1 && k < sizeof habits / sizeof *habits; ++k) {
    if (strcmp(argv[1], habits[k].name) == 0) {
      habits[k].run(good);
      found = 1;
    }
  }
  MPI_Finalize();
  return found ? 0 : 2;
}
