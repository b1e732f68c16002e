/* Writes through views of random datatypes, each rank into files of its own.
 *   mpi_views FILE SEED ROUNDS DEPTH    types within types, fewer than DEPTH
 * Each rank prints "RANK FILE NUMBER BYTES" for each write in its order; byte i of write k is
 * (131 k + 7 i + i / 251) mod 255 + 1, and nothing is written twice. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define MUST(condition)                                            \
  do {                                                             \
    if (!(condition)) {                                            \
      fprintf(stderr, "mpi_views:%d: %s\n", __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 9);                                \
    }                                                              \
  } while (0)

/* Types are made by calls with large counts, too; MPICH 4.0 ends a program that views by them. */
#if MPI_VERSION * 100 + MPI_SUBVERSION > 400
#define EITHER(large, plain) (below(2) ? (large) : (plain))
#else
#define EITHER(large, plain) (plain)
#endif

enum { kMost = 6 };
static int element_bytes;
static MPI_Datatype element;

static int below(int n) {
  return rand() % n;
}

/* As counts, good for three more calls. */
static inline const MPI_Count* wide(const int* from, int n) {
  static MPI_Count counts[4][kMost];
  static int next;
  MPI_Count* const to = counts[next++ % 4];
  for (int i = 0; i < n; ++i) to[i] = from[i];
  return to;
}

static MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint lower, extent;
  MPI_Type_get_extent(type, &lower, &extent);
  return extent;
}

/* The extent begins at the first displacement, not at 0. */
static MPI_Aint end_of(MPI_Datatype type) {
  MPI_Aint lower, extent;
  MPI_Type_get_extent(type, &lower, &extent);
  return lower + extent;
}

/* Block lengths, and displacements that leave gaps and never go back, in units of `unit`. */
static int draw_blocks(int* lengths, int* places, int fixed) {
  const int n = 1 + below(kMost);
  int at = below(3);
  for (int i = 0; i < n; ++i) {
    lengths[i] = fixed > 0 ? fixed : 1 + below(3);
    places[i] = at;
    at += lengths[i] + below(3);
  }
  return n;
}

static MPI_Datatype draw_array(MPI_Datatype child) {
  int sizes[3], subsizes[3], starts[3], kinds[3], arguments[3], grid[3];
  const int n = 1 + below(3), order = below(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  int processes = 1;
  MPI_Datatype type;
  for (int d = 0; d < n; ++d) {
    sizes[d] = 2 + below(6);
    subsizes[d] = 1 + below(sizes[d]);
    starts[d] = below(sizes[d] - subsizes[d] + 1);
    static const int all[] = {0, 1, 2};
    const int kind = all[below(3)];
    kinds[d] = kind == 0 ? MPI_DISTRIBUTE_NONE
                         : (kind == 1 ? MPI_DISTRIBUTE_BLOCK : MPI_DISTRIBUTE_CYCLIC);
    grid[d] = kind == 0 ? 1 : 1 + below(sizes[d] < 3 ? sizes[d] : 3);
    arguments[d] = MPI_DISTRIBUTE_DFLT_DARG;
    if (kind == 1 && below(2)) arguments[d] = (sizes[d] + grid[d] - 1) / grid[d] + below(2);
    if (kind == 2 && below(2)) arguments[d] = 1 + below(2);
    processes *= grid[d];
  }
  if (below(2)) {
    MUST(EITHER(MPI_Type_create_subarray_c(n, wide(sizes, n), wide(subsizes, n), wide(starts, n),
                                           order, child, &type),
                MPI_Type_create_subarray(n, sizes, subsizes, starts, order, child, &type)) == 0);
  } else {
    const int place = below(processes);
    MUST(EITHER(MPI_Type_create_darray_c(processes, place, n, wide(sizes, n), kinds, arguments,
                                         grid, order, child, &type),
                MPI_Type_create_darray(processes, place, n, sizes, kinds, arguments, grid, order,
                                       child, &type)) == 0);
  }
  return type;
}

static MPI_Datatype draw_type(int depth);

/* One whose extent begins at 0 and holds all its data: a resized part may leave it shorter, and of
 * copies that do not begin at 0 ROMIO may never find the end. */
static MPI_Datatype draw_aligned(int depth) {
  MPI_Aint lower, extent, first, span;
  MPI_Datatype type = draw_type(depth), resized;
  MPI_Type_get_extent(type, &lower, &extent);
  MPI_Type_get_true_extent(type, &first, &span);
  const MPI_Aint end = first + span > lower + extent ? first + span : lower + extent;
  if (lower == 0 && end == extent) return type;
  MUST(MPI_Type_create_resized(type, 0, end, &resized) == 0);
  MPI_Type_free(&type);
  return resized;
}

/* A type of non-negative displacements that do not decrease, as views need it. */
static MPI_Datatype draw_type(int depth) {
  MPI_Datatype child, type;
  int lengths[kMost], places[kMost];
  MPI_Aint bytes[kMost];
  if (depth == 0) {
    MUST(MPI_Type_dup(element, &type) == 0);
    return type;
  }
  child = below(2) ? draw_aligned(depth - 1) : element;
  const MPI_Aint extent = extent_of(child);
  const int fixed = 1 + below(3), count = 1 + below(4), kind = below(12);
  const int n = draw_blocks(lengths, places, kind == 6 || kind == 7 ? fixed : 0);
  MPI_Count large[kMost];
  for (int i = 0; i < n; ++i) large[i] = bytes[i] = places[i] * extent;
  const MPI_Count* const wide_lengths = wide(lengths, n);
  const MPI_Count* const wide_places = wide(places, n);
  (void)large, (void)wide_lengths, (void)wide_places;
  switch (kind) {
    case 0:
      MUST(MPI_Type_dup(child, &type) == 0);
      break;
    case 1:
      MUST(EITHER(MPI_Type_contiguous_c(count, child, &type),
                  MPI_Type_contiguous(count, child, &type)) == 0);
      break;
    case 2: {
      const int stride = fixed + below(3);
      MUST(EITHER(MPI_Type_vector_c(count, fixed, stride, child, &type),
                  MPI_Type_vector(count, fixed, stride, child, &type)) == 0);
      break;
    }
    case 3: {
      const MPI_Aint stride = fixed * extent + below(4) * element_bytes;
      MUST(EITHER(MPI_Type_create_hvector_c(count, fixed, stride, child, &type),
                  MPI_Type_create_hvector(count, fixed, stride, child, &type)) == 0);
      break;
    }
    case 4:
      MUST(EITHER(MPI_Type_indexed_c(n, wide_lengths, wide_places, child, &type),
                  MPI_Type_indexed(n, lengths, places, child, &type)) == 0);
      break;
    case 5:
      MUST(EITHER(MPI_Type_create_hindexed_c(n, wide_lengths, large, child, &type),
                  MPI_Type_create_hindexed(n, lengths, bytes, child, &type)) == 0);
      break;
    case 6:
      MUST(EITHER(MPI_Type_create_indexed_block_c(n, fixed, wide_places, child, &type),
                  MPI_Type_create_indexed_block(n, fixed, places, child, &type)) == 0);
      break;
    case 7:
      MUST(EITHER(MPI_Type_create_hindexed_block_c(n, fixed, large, child, &type),
                  MPI_Type_create_hindexed_block(n, fixed, bytes, child, &type)) == 0);
      break;
    case 8: {
      MPI_Datatype both[2] = {child, element};
      int two[2] = {count, fixed};
      MPI_Aint where[2] = {below(3) * element_bytes, 0};
      where[1] = where[0] + end_of(child) + (count - 1) * extent + below(3) * element_bytes;
      MPI_Count far[2] = {where[0], where[1]};
      (void)far;
      MUST(EITHER(MPI_Type_create_struct_c(2, wide(two, 2), far, both, &type),
                  MPI_Type_create_struct(2, two, where, both, &type)) == 0);
      break;
    }
    case 9: {
      const MPI_Aint end = end_of(child) + below(4) * element_bytes;
      MUST(EITHER(MPI_Type_create_resized_c(child, 0, end, &type),
                  MPI_Type_create_resized(child, 0, end, &type)) == 0);
      break;
    }
    default:
      type = draw_array(child);
  }
  if (child != element) MPI_Type_free(&child);
  return type;
}

static char buffer[1 << 20];
static int written;

static int fill(int elements) {
  const int bytes = elements * element_bytes;
  for (int i = 0; i < bytes; ++i) buffer[i] = (char)((131 * written + 7 * i + i / 251) % 255 + 1);
  ++written;
  return bytes;
}

int main(int argc, char** argv) {
  static MPI_Datatype named[3];
  static const int sizes[3] = {1, 4, 8};
  int rank;
  MUST(argc == 5 && MPI_Init(&argc, &argv) == 0);
  named[0] = MPI_BYTE, named[1] = MPI_INT, named[2] = MPI_DOUBLE;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  srand((unsigned)atoi(argv[2]) + 7919u * (unsigned)rank);
  for (int round = 0; round < atoi(argv[3]); ++round) {
    const int which = below(3);
    element = named[which];
    element_bytes = sizes[which];
    MPI_Datatype type = draw_aligned(below(atoi(argv[4])));
    int size = 0;
    MPI_Type_size(type, &size);
    if (size == 0 || size > 20000 || extent_of(type) > 200000) { /* too large to be checked */
      MPI_Type_free(&type);
      continue;
    }
    MUST(MPI_Type_commit(&type) == 0);
    char name[1000];
    snprintf(name, sizeof name, "%s.%d.%d", argv[1], rank, round);
    MPI_File file;
    MUST(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                       &file) == 0);
    if (MPI_File_set_view(file, below(50), element, type, "native", MPI_INFO_NULL) != 0) {
      MPI_File_close(&file); /* OMPIO refuses some that are right */
      MPI_Type_free(&type);
      continue;
    }
    const int tile = size / element_bytes, most = 2 * tile + 3;
    MPI_Offset at = 0;
    for (int call = 0; call < 4; ++call) {
      const int elements = 1 + below(most);
      const int bytes = fill(elements), skipped = below(tile + 2);
      switch (call) {
        case 0:
          MUST(MPI_File_write(file, buffer, elements, element, MPI_STATUS_IGNORE) == 0);
          at += elements;
          break;
        case 1:
          MUST(MPI_File_seek(file, skipped, MPI_SEEK_CUR) == 0);
          MUST(MPI_File_write_all(file, buffer, elements, element, MPI_STATUS_IGNORE) == 0);
          at += skipped + elements;
          break;
        case 2:
          at += skipped;
          MUST(MPI_File_write_at(file, at, buffer, elements, element, MPI_STATUS_IGNORE) == 0);
          at += elements;
          break;
        default:
          MUST(MPI_File_seek(file, at, MPI_SEEK_SET) == 0);
          MUST(MPI_File_write(file, buffer, bytes, MPI_BYTE, MPI_STATUS_IGNORE) == 0);
      }
      printf("%d %s %d %d\n", rank, name, written - 1, bytes);
    }
    MUST(MPI_File_close(&file) == 0);
    MPI_Type_free(&type);
  }
  MPI_Finalize();
  return 0;
}
