/* gathered_views WAY FILE PIECES
 *
 * Each rank writes pieces of 8 bytes in some WAY, mostly through a view with holes; then rank 0
 * fills by POSIX what no rank writes, and the file is closed. Prints one line a rank of what calls
 * gave. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { kBytes = 8, kCluster = 100, kGap = 12 };

static int rank, ranks, wrong;
static const char* way;
static MPI_File file;

static int is(const char* name) {
  return strcmp(way, name) == 0;
}

static void fill(char* piece, long i) {
  for (int k = 0; k < kBytes; ++k) piece[k] = (char)(i * 7 + rank * 101 + k + 1);
}

static void expect(int result) {
  if (result != MPI_SUCCESS) ++wrong;
}

/* Of a cell of the file: whether no rank writes it. */
static int is_hole(long cell) {
  if (is("holes")) return cell % (ranks + 1) == ranks;
  if (is("islands")) return cell % (kCluster + kGap) >= kCluster;
  return 0;
}

/* Each rank has every ranks-th element, and in "holes" one of each group is nobody's. */
static void set_view(long pieces) {
  const int group = is("holes") ? ranks + 1 : ranks;
  MPI_Datatype cell, tile;
  MPI_Type_contiguous(kBytes, MPI_BYTE, &cell);
  MPI_Type_commit(&cell);
  if (is("subarray")) {
    const int sizes[3] = {(int)pieces / 4, 4, ranks * 2}, parts[3] = {(int)pieces / 4, 4, 2};
    const int starts[3] = {0, 0, rank * 2};
    MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, cell, &tile);
    MPI_Type_commit(&tile);
    expect(MPI_File_set_view(file, 64, cell, tile, "native", MPI_INFO_NULL));
  } else {
    MPI_Datatype one;
    MPI_Type_create_resized(cell, 0, (MPI_Aint)group * kBytes, &one);
    MPI_Type_commit(&one);
    expect(MPI_File_set_view(file, (MPI_Offset)rank * kBytes, cell, one, "native", MPI_INFO_NULL));
    tile = one;
  }
  MPI_Type_free(&tile);
  MPI_Type_free(&cell);
}

/* Three pieces a call, at the pointer and at offsets. */
static void write_through_view(long pieces) {
  char data[3 * kBytes];
  for (long i = 0; i < pieces; i += 3) {
    const int count = (int)(pieces - i < 3 ? pieces - i : 3);
    for (int k = 0; k < count; ++k) fill(data + k * kBytes, i + k);
    if (i % 2 == 0) {
      expect(MPI_File_seek(file, i, MPI_SEEK_SET));
      expect(MPI_File_write(file, data, count * kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    } else {
      expect(MPI_File_write_at(file, i, data, count * kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    }
  }
}

static void write_cells(long cells) {
  char data[kBytes];
  for (long cell = rank; cell < cells; cell += ranks) {
    if (is_hole(cell)) continue;
    fill(data, cell);
    expect(MPI_File_write_at(file, (MPI_Offset)cell * kBytes, data, kBytes, MPI_BYTE,
                             MPI_STATUS_IGNORE));
  }
}

/* Cyclic cells, a part of its own in each rank that small writes make a large piece, and one write
   that on a local file system is too large to wait. */
static void write_large(long pieces) {
  enum { kStep = 1 << 10, kSteps = 1280 };
  char* const data = calloc(1, kStep + 1);
  write_cells(pieces);
  const MPI_Offset begin = (MPI_Offset)pieces * kBytes + (MPI_Offset)rank * kStep * kSteps;
  for (int i = 0; i < kSteps; ++i) {
    memset(data, rank * 50 + i % 50 + 1, kStep);
    expect(MPI_File_write_at(file, begin + (MPI_Offset)i * kStep, data, kStep, MPI_BYTE,
                             MPI_STATUS_IGNORE));
  }
  const MPI_Offset end = (MPI_Offset)pieces * kBytes + (MPI_Offset)ranks * kStep * kSteps;
  expect(MPI_File_write_at(file, end + (MPI_Offset)rank * (kStep + 1), data, kStep + 1, MPI_BYTE,
                           MPI_STATUS_IGNORE));
  free(data);
}

/* A type whose second half comes first: dense in memory, and yet in another order. */
static void write_permuted(long pieces) {
  const int lengths[2] = {4, 4};
  const MPI_Aint places[2] = {4, 0};
  MPI_Datatype type;
  MPI_Type_create_hindexed(2, lengths, places, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  for (long i = 0; i < pieces; ++i) {
    char data[kBytes];
    fill(data, i);
    expect(MPI_File_write_at(file, (MPI_Offset)(i * ranks + rank) * kBytes, data, 1, type,
                             MPI_STATUS_IGNORE));
  }
  MPI_Type_free(&type);
}

/* What this rank has just written, in parts that are no writes' own; then what it has not. */
static void read_back(long pieces) {
  char data[kBytes], expected[2 * kBytes], read[2 * kBytes];
  const MPI_Offset begin = (MPI_Offset)rank * pieces * kBytes;
  for (long i = 0; i < pieces; ++i) {
    fill(data, i);
    expect(MPI_File_write_at(file, begin + (MPI_Offset)i * kBytes, data, kBytes, MPI_BYTE,
                             MPI_STATUS_IGNORE));
  }
  for (long i = 0; i + 1 < pieces; ++i) {
    MPI_Status status;
    MPI_Request request;
    MPI_Offset position = -1;
    int count = -1;
    const int shift = (int)(i % kBytes);
    memset(read, 0, sizeof read);
    fill(expected, i);
    fill(expected + kBytes, i + 1);
    const MPI_Offset at = begin + (MPI_Offset)i * kBytes + shift;
    if (i % 3 == 0) {
      expect(MPI_File_read_at(file, at, read, kBytes, MPI_BYTE, &status));
    } else if (i % 3 == 1) {
      expect(MPI_File_iread_at(file, at, read, kBytes, MPI_BYTE, &request));
      expect(MPI_Wait(&request, &status));
    } else {
      expect(MPI_File_seek(file, at, MPI_SEEK_SET));
      expect(MPI_File_read(file, read, kBytes, MPI_BYTE, &status));
      expect(MPI_File_get_position(file, &position));
      if (position != at + kBytes) ++wrong;
    }
    MPI_Get_count(&status, MPI_BYTE, &count);
    if (count != kBytes || memcmp(read, expected + shift, kBytes) != 0) ++wrong;
  }
}

/* Rank 0 writes and reads small pieces, while the others write large ones between them, which
 * MPI-IO sieves: it reads rank 0's pieces and writes them back. Nobody else writes these. */
static void write_beside_sieved(void) {
  enum { kSmall = 600, kLarge = 66000, kTiles = 6, kRounds = 1000 };
  static char small[kSmall * kTiles], seen[kSmall * kTiles];
  char* const large = malloc((size_t)kLarge * kTiles);
  MPI_Datatype part, tile;
  MPI_Type_contiguous(rank == 0 ? kSmall : kLarge, MPI_BYTE, &part);
  MPI_Type_create_resized(part, 0, kSmall + (MPI_Aint)kLarge * (ranks - 1), &tile);
  MPI_Type_commit(&tile);
  const MPI_Offset begin = rank == 0 ? 0 : kSmall + (MPI_Offset)kLarge * (rank - 1);
  expect(MPI_File_set_view(file, begin, MPI_BYTE, tile, "native", MPI_INFO_NULL));
  MPI_Type_free(&tile);
  MPI_Type_free(&part);
  for (int i = 0; i < kRounds; ++i) {
    memset(small, i % 100 + 1, sizeof small);
    memset(large, i % 100 + 1, (size_t)kLarge * kTiles);
    if (rank != 0) {
      expect(MPI_File_write_at(file, 0, large, kLarge * kTiles, MPI_BYTE, MPI_STATUS_IGNORE));
      continue;
    }
    expect(MPI_File_write_at(file, kSmall, small, kSmall * 4, MPI_BYTE, MPI_STATUS_IGNORE));
    for (int again = 0; again < 2; ++again) {
      expect(MPI_File_read_at(file, 0, seen, kSmall * 5, MPI_BYTE, MPI_STATUS_IGNORE));
      if (memcmp(seen + kSmall, small, kSmall * 4) != 0) ++wrong;
    }
  }
  free(large);
}

static void fill_holes(const char* path, long cells) {
  MPI_Barrier(MPI_COMM_WORLD);
  const int fd = open(path, O_WRONLY);
  for (long cell = 0; rank == 0 && cell < cells; ++cell) {
    if (is_hole(cell) && pwrite(fd, "-nobody-", kBytes, (off_t)cell * kBytes) != kBytes) ++wrong;
  }
  close(fd);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Of descriptors, the next one is the last that may be opened; or as many as at first. */
static void allow_one_more(int only_one) {
  static rlim_t before;
  struct rlimit limit;
  const int next = open("/dev/null", O_RDONLY);
  close(next);
  getrlimit(RLIMIT_NOFILE, &limit);
  if (only_one) before = limit.rlim_cur;
  limit.rlim_cur = only_one ? (rlim_t)next + 1 : before;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
  way = argv[1];
  const long pieces = atol(argv[3]);
  if (is("fatal")) {
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
    allow_one_more(1);
  }
  MPI_Info info = MPI_INFO_NULL;
  if (is("unsieved")) {
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_ds_write", "disable");
  }
  if (MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) !=
      MPI_SUCCESS) {
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (is("fatal")) allow_one_more(0);
  MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
  if (is("view") || is("holes") || is("subarray")) {
    set_view(pieces);
    write_through_view(is("subarray") ? pieces * 2 : pieces);
    fill_holes(argv[2], pieces * (ranks + 1));
  } else if (is("sieved")) {
    write_beside_sieved();
  } else if (is("large")) {
    write_large(pieces);
  } else if (is("permuted")) {
    write_permuted(pieces);
  } else if (is("reads")) {
    read_back(pieces);
  } else if (is("null-type")) {
    char data[kBytes] = "1234567";
    int its_class = 0;
    const int result = MPI_File_write_at(file, 0, data, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE);
    if (result != MPI_SUCCESS) MPI_Error_class(result, &its_class);
    printf("%s\n", its_class == MPI_ERR_TYPE ? "an error of the type" : "something else");
  } else {
    write_cells(pieces * ranks);
    fill_holes(argv[2], pieces * ranks);
  }
  expect(MPI_File_close(&file));
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  if (wrong != 0) printf("rank %d: %d wrong\n", rank, wrong);
  MPI_Finalize();
  return wrong != 0;
}
