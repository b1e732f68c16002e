/* drawn_files FOLDER FIRST COUNT JOB JOBS CALLS
 *
 * COUNT drawn programs, the first one of seed FIRST: ranks write small pieces of files by drawn
 * calls of MPI-IO, through one handle or two, of one file or two, of all ranks or of halves of
 * them, at once or one after the other. One rank may write cells between them by POSIX, and with
 * JOBS of 2 another run does, by the same seeds. Each byte has one writer at a time. What a rank
 * has written it must read at once; what others have, after a sync; and after the close all of it
 * must be there, and no other byte. CALLS is a sum: 1 for those at the shared
 * pointer, 2 for nonblocking collective ones. What is wrong is one line and an exit status of 1. */
#include "drawn_files.h"

#include <fcntl.h>
#include <unistd.h>

enum { kOutstanding = 4, kMostJoined = 5 };
/* How the program has its files. */
enum { kOne, kTwoHandles, kOwnFiles, kSameFile, kInTurn, kKinds };

typedef struct {
  MPI_File file;
  Disk* disk;
  MPI_Comm comm;
  int group, writer, is_open, reads;
  int unit, own_view, atomic;
  long shift;
  int own[kCells], owns; /* cells of this rank */
  MPI_Request requests[kOutstanding];
  unsigned char kept[kOutstanding][kMostJoined * kMostBytes];
  int outstanding;
} Handle;

static const char* folder;
static int job, jobs, calls, kind, version, wrong;
static Disk disks[2];
static Handle handles[2];
static int posix_files[2];

static void say_wrong(const char* what, long at, int has, int wants) {
  if (wrong++ > 3) return;
  fprintf(stderr, "seed %d, rank %d, kind %d: %s, byte %ld: %d, not %d\n", seed, world_rank, kind,
          what, at, has, wants);
}

static void wait_for_requests(Handle* h) {
  MPI_Waitall(h->outstanding, h->requests, MPI_STATUSES_IGNORE);
  h->outstanding = 0;
}

static void find_own(Handle* h) {
  h->owns = 0;
  for (int cell = 0; cell < kCells; ++cell) {
    if (owner(h->disk, cell) == h->writer) h->own[h->owns++] = cell;
  }
}

/* Where the first of `cells` own cells from the `which`-th on lies in the view; -1: it cannot be
 * named. */
static MPI_Offset in_view(const Handle* h, int which) {
  const int width = h->disk->width;
  if (h->own_view) return (MPI_Offset)which * width;
  const long at = place_of(h->disk, h->own[which]) - h->shift;
  return at < 0 || at % h->unit != 0 || width % h->unit != 0 ? -1 : at / h->unit;
}

/* Of a call at the `which`-th own cell: so many of them, one behind the other in the view. */
static int joined(const Handle* h, int which) {
  int cells = 1 + own_draw(kMostJoined);
  if (cells > h->owns - which) cells = h->owns - which;
  if (h->own_view) return cells;
  int side_by_side = 1;
  while (side_by_side < cells && h->own[which + side_by_side] == h->own[which] + side_by_side) {
    ++side_by_side;
  }
  return side_by_side;
}

static int fill_own(Handle* h, int which, int cells, unsigned char* data) {
  for (int i = 0; i < cells; ++i) {
    fill(h->disk, h->own[which + i], version, data + i * h->disk->width);
    h->disk->last[h->own[which + i]] = version;
  }
  return cells * h->disk->width;
}

static void check_count(MPI_Status* status, int bytes) {
  int count = -1;
  MPI_Get_count(status, MPI_BYTE, &count);
  if (count != bytes) say_wrong("a status counts", 0, count, bytes);
}

static int write_own(Handle* h, int which) {
  const MPI_Offset at = in_view(h, which);
  if (at < 0) return 1;
  const int cells = joined(h, which);
  unsigned char plain[kMostJoined * kMostBytes], spread[2 * kMostJoined * kMostBytes];
  if (h->outstanding == kOutstanding) wait_for_requests(h);
  const int keeps = own_draw(8) == 0;
  unsigned char* const data = keeps ? h->kept[h->outstanding] : plain;
  const int bytes = fill_own(h, which, cells, data);
  MPI_Status status;
  MPI_Request request;
  MPI_Offset position = -1;
  if (keeps) {
    CHECK(MPI_File_iwrite_at(h->file, at, data, bytes, MPI_BYTE, &h->requests[h->outstanding++]));
    return cells;
  }
  switch (own_draw(8)) {
    case 0:
      CHECK(MPI_File_seek(h->file, at, MPI_SEEK_SET));
      CHECK(MPI_File_write(h->file, data, bytes, MPI_BYTE, &status));
      CHECK(MPI_File_get_position(h->file, &position));
      if (position != at + bytes / h->unit) say_wrong("the pointer", at, (int)position, -1);
      break;
    case 1:
      CHECK(MPI_File_iwrite_at(h->file, at, data, bytes, MPI_BYTE, &request));
      CHECK(MPI_Wait(&request, &status));
      break;
    case 2:
      CHECK(MPI_File_iwrite_at(h->file, at, data, bytes, MPI_BYTE, &request));
      for (int done = 0; !done;) CHECK(MPI_Test(&request, &done, &status));
      break;
    case 3:
      CHECK(MPI_File_get_position(h->file, &position));
      CHECK(MPI_File_seek(h->file, at - position, MPI_SEEK_CUR));
      CHECK(MPI_File_iwrite(h->file, data, bytes, MPI_BYTE, &request));
      CHECK(MPI_Wait(&request, &status));
      break;
    case 4: { /* every second byte of memory */
      MPI_Datatype type;
      for (int i = 0; i < bytes; ++i) spread[2 * i] = data[i];
      MPI_Type_vector(bytes, 1, 2, MPI_BYTE, &type);
      MPI_Type_commit(&type);
      CHECK(MPI_File_write_at(h->file, at, spread, 1, type, &status));
      MPI_Type_free(&type);
      break;
    }
    default:
      CHECK(MPI_File_write_at(h->file, at, data, bytes, MPI_BYTE, &status));
  }
  check_count(&status, bytes);
  return cells;
}

static void compare(const Handle* h, int cell, const unsigned char* data, const char* what) {
  const int last = h->disk->last[cell];
  for (int i = 0; last != 0 && i < h->disk->width; ++i) {
    const int wants = value_at(last, place_of(h->disk, cell) + i);
    if (data[i] != wants) return say_wrong(what, place_of(h->disk, cell) + i, data[i], wants);
  }
}

static void read_own(Handle* h, int which) {
  const MPI_Offset at = in_view(h, which);
  if (!h->reads || at < 0) return;
  wait_for_requests(h);
  const int cells = joined(h, which), bytes = cells * h->disk->width;
  unsigned char data[kMostJoined * kMostBytes];
  MPI_Request request;
  memset(data, 0, sizeof data);
  switch (own_draw(3)) {
    case 0:
      CHECK(MPI_File_seek(h->file, at, MPI_SEEK_SET));
      CHECK(MPI_File_read(h->file, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
      break;
    case 1:
      CHECK(MPI_File_iread_at(h->file, at, data, bytes, MPI_BYTE, &request));
      CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      break;
    default:
      CHECK(MPI_File_read_at(h->file, at, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  for (int i = 0; i < cells; ++i) {
    compare(h, h->own[which + i], data + i * h->disk->width, "its own is read");
  }
}

/* The end of what this rank has written lies in the file. */
static void ask_for_end(Handle* h) {
  MPI_Offset least = 0, bytes = 0;
  wait_for_requests(h);
  for (int i = 0; i < h->owns; ++i) {
    if (h->disk->last[h->own[i]] != 0) least = place_of(h->disk, h->own[i]) + h->disk->width;
  }
  if (own_draw(2) == 0 && h->unit == 1 && !h->own_view) {
    CHECK(MPI_File_seek(h->file, 0, MPI_SEEK_END));
    CHECK(MPI_File_get_position(h->file, &bytes));
    bytes += h->shift;
  } else {
    CHECK(MPI_File_get_size(h->file, &bytes));
  }
  if (bytes < least) say_wrong("the end", 0, (int)bytes, (int)least);
}

static void set_view(Handle* h, int which) {
  static const int units[] = {1, 4, 8};
  const int unit = units[draw(3)], shift = draw(3) * 8;
  h->own_view = which != 0;
  h->unit = which != 0 ? 1 : unit;
  h->shift = which != 0 ? 0 : shift;
  if (which == 0 || h->owns == 0) {
    const MPI_Datatype type = h->unit == 1 ? MPI_BYTE : h->unit == 4 ? MPI_INT : MPI_DOUBLE;
    CHECK(MPI_File_set_view(h->file, h->shift, type, type, "native", MPI_INFO_NULL));
    return;
  }
  int lengths[kCells], places[kCells];
  for (int i = 0; i < h->owns; ++i) {
    lengths[i] = h->disk->width;
    places[i] = (int)place_of(h->disk, h->own[i]);
  }
  MPI_Datatype cells;
  MPI_Type_indexed(h->owns, lengths, places, MPI_BYTE, &cells);
  MPI_Type_commit(&cells);
  CHECK(MPI_File_set_view(h->file, 0, MPI_BYTE, cells, "native", MPI_INFO_NULL));
  MPI_Type_free(&cells);
}

static void open_handle(Handle* h, int amode) {
  MPI_Info info = MPI_INFO_NULL;
  const int hint = draw(6);
  if (hint < 2) {
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", hint == 0 ? "enable" : "disable");
    MPI_Info_set(info, "romio_ds_write", "disable");
  }
  MPI_Comm comm;
  MPI_Comm_dup(h->comm, &comm);
  CHECK(MPI_File_open(comm, h->disk->name, amode, info, &h->file));
  MPI_Comm_free(&comm);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  h->is_open = 1;
  h->reads = amode != (MPI_MODE_CREATE | MPI_MODE_WRONLY);
  h->unit = 1;
  h->shift = h->own_view = h->atomic = 0;
}

static void close_handle(Handle* h) {
  wait_for_requests(h);
  CHECK(MPI_File_close(&h->file));
  h->is_open = 0;
}

#include "drawn_rounds.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 7) MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_ranks);
  folder = argv[1];
  job = atoi(argv[4]);
  jobs = atoi(argv[5]);
  calls = atoi(argv[6]);
  int all_wrong = 0;
  for (int i = 0; i < atoi(argv[3]) && all_wrong == 0; ++i) {
    seed = atoi(argv[2]) + i;
    if (world_rank == 0) fprintf(stdout, "seed %d\n", seed), fflush(stdout);
    drawn_program();
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return all_wrong != 0;
}
