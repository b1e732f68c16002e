/* Of drawn_files.c: the rounds of one drawn program, and its end. */
#pragma once

/* Ranks that write into each other's holes by calls that sieve would lose bytes without iotune. */
static int is_alone(const Handle* h) {
  return jobs == 1 && h->disk->posix == 0 && (kind == kOne || kind == kOwnFiles || kind == kInTurn);
}

static void write_some(Handle* h, int first, int cells) {
  for (int which = 0; which < h->owns;) {
    const int cell = h->own[which];
    if ((cell - first + kCells) % kCells >= cells) {
      ++which;
      continue;
    }
    const int done = write_own(h, which);
    if (own_draw(25) == 0) read_own(h, which);
    if (own_draw(40) == 0) write_own(h, own_draw(h->owns));
    if (own_draw(120) == 0) ask_for_end(h);
    which += done;
  }
}

/* All ranks' bytes are seen by all that have the handle. */
static void sync_and_check(Handle* h) {
  CHECK(MPI_File_sync(h->file));
  MPI_Barrier(h->comm);
  CHECK(MPI_File_sync(h->file));
  if (!h->reads || h->own_view) return;
  int last[kCells + kTailCells];
  MPI_Allreduce(h->disk->last, last, kCells + kTailCells, MPI_INT, MPI_MAX, h->comm);
  for (int i = 0; i < 20; ++i) {
    const int cell = own_draw(kCells), who = owner(h->disk, cell);
    const long at = place_of(h->disk, cell) - h->shift;
    int seen = who >= 0 && who < h->disk->writers && at >= 0 && at % h->unit == 0 &&
               h->disk->width % h->unit == 0 && (kind == kOne || kind == kOwnFiles);
    if (!seen || last[cell] == 0) continue;
    unsigned char data[kMostBytes];
    CHECK(
        MPI_File_read_at(h->file, at / h->unit, data, h->disk->width, MPI_BYTE, MPI_STATUS_IGNORE));
    const int own = h->disk->last[cell];
    h->disk->last[cell] = last[cell];
    compare(h, cell, data, "after a sync");
    h->disk->last[cell] = own;
  }
  MPI_Barrier(h->comm); /* nobody writes before all have read */
}

/* A collective call that has data of its own, where that is safe; else none. */
static void transfer_together(Handle* h, int way, int first, int cells) {
  unsigned char data[kMostJoined * kMostBytes];
  wait_for_requests(h);
  int which = h->owns == 0 ? 0 : own_draw(h->owns), bytes = 0, joint = 0;
  MPI_Offset at = h->owns == 0 ? -1 : in_view(h, which);
  if (at >= 0 && is_alone(h)) joint = joined(h, which);
  if (at < 0) at = 0;
  MPI_Status status;
  MPI_Request request;
  if (way == 0) {
    if (!h->reads) return;
    memset(data, 0, sizeof data);
    bytes = joint * h->disk->width;
    CHECK(MPI_File_read_at_all(h->file, at, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    for (int i = 0; i < joint; ++i) {
      compare(h, h->own[which + i], data + i * h->disk->width, "read together");
    }
    return;
  }
  if (way == 3 && (calls & 2) == 0) return;
  ++version;
  bytes = fill_own(h, which, joint, data);
  switch (way) {
    case 1:
      CHECK(MPI_File_write_at_all(h->file, at, data, bytes, MPI_BYTE, &status));
      break;
    case 2:
      CHECK(MPI_File_write_at_all_begin(h->file, at, data, bytes, MPI_BYTE));
      /* Its bytes may be on their way: others only. */
      for (int i = 0; i < h->owns; ++i) {
        const int cell = h->own[i];
        const int near = i >= which && i < which + kMostJoined;
        if (!near && !h->own_view && (cell - first + kCells) % kCells < cells / 4) {
          const MPI_Offset place = in_view(h, i);
          unsigned char one[kMostBytes];
          if (place < 0) continue;
          const int one_bytes = fill_own(h, i, 1, one);
          CHECK(MPI_File_write_at(h->file, place, one, one_bytes, MPI_BYTE, MPI_STATUS_IGNORE));
        }
      }
      CHECK(MPI_File_write_at_all_end(h->file, data, &status));
      break;
    case 3:
      CHECK(MPI_File_iwrite_at_all(h->file, at, data, bytes, MPI_BYTE, &request));
      CHECK(MPI_Wait(&request, &status));
      MPI_Barrier(h->comm);
      break;
    default:
      CHECK(MPI_File_seek(h->file, at, MPI_SEEK_SET));
      CHECK(MPI_File_write_all(h->file, data, bytes, MPI_BYTE, &status));
  }
}

/* At the shared pointer, behind the cells: each rank's piece behind the one's before. */
static void write_in_order(Handle* h) {
  int rank, ranks;
  MPI_Comm_rank(h->comm, &rank);
  MPI_Comm_size(h->comm, &ranks);
  if ((calls & 1) == 0 || h->unit != 1 || h->own_view || ranks > 8) return;
  const int group = job * 2 + h->group, cell = kCells + group * 8 + rank;
  unsigned char data[kMostBytes];
  ++version;
  for (int i = 0; i < kMostBytes; ++i) data[i] = value_at(version, place_of(h->disk, cell) + i);
  h->disk->last[cell] = version;
  CHECK(MPI_File_seek_shared(h->file, place_of(h->disk, kCells + group * 8) - h->shift,
                             MPI_SEEK_SET));
  CHECK(MPI_File_write_ordered(h->file, data, kMostBytes, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void set_no_hints(Handle* h) {
  MPI_Info info;
  MPI_Info_create(&info);
  CHECK(MPI_File_set_info(h->file, info));
  MPI_Info_free(&info);
}

static void meet(Handle* h, int first, int cells, int call, int argument) {
  wait_for_requests(h);
  switch (call) {
    case 0:
      CHECK(MPI_File_sync(h->file));
      break;
    case 1:
    case 2:
      set_view(h, argument % 2);
      break;
    case 3:
      CHECK(MPI_File_set_atomicity(h->file, argument & 1));
      break;
    case 4:
      CHECK(MPI_File_set_size(h->file, kAll));
      break;
    case 5: /* ROMIO reads and writes back what is there */
      if (is_alone(h)) CHECK(MPI_File_preallocate(h->file, kAll));
      break;
    case 6:
      close_handle(h);
      MPI_Barrier(h->comm);
      open_handle(h, argument % 3 ? MPI_MODE_RDWR : MPI_MODE_WRONLY | MPI_MODE_CREATE);
      break;
    case 7:
      set_no_hints(h);
      break;
    case 8:
      write_in_order(h);
      break;
    case 9:
    case 10:
      sync_and_check(h);
      break;
    case 11:
    case 12:
    case 13:
    case 14:
      transfer_together(h, argument % 5, first, cells);
      break;
    default:
      break;
  }
}

/* Draws that all ranks make, also of a handle that others have. */
static void play_round(Handle* h, int is_mine) {
  const int all = draw(3) == 0, first = draw(kCells), cells = all ? kCells : 1 + draw(kCells);
  const int call = draw(20), argument = draw(30);
  const uint64_t kept = state;
  version += 3;
  if (is_mine) {
    write_some(h, first, cells);
    meet(h, first, cells, call, argument);
  }
  state = kept;
  draw(2);
}

static void write_by_posix(int which) {
  Disk* const disk = &disks[which];
  const int first = draw(kCells), cells = draw(kCells);
  if (!disk->posix || job != 0 || world_rank != 0) return;
  ++version;
  for (int i = 0; i < cells; ++i) {
    const int cell = (first + i) % kCells;
    unsigned char data[kMostBytes];
    if (owner(disk, cell) != disk->writers) continue;
    fill(disk, cell, version, data);
    disk->last[cell] = version;
    if (pwrite(posix_files[which], data, (size_t)disk->width, place_of(disk, cell)) !=
        disk->width) {
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
  }
}

/* Between the two jobs: a file for each that has come here. */
static void meet_other_job(const char* where) {
  if (jobs < 2) return;
  char name[600];
  if (world_rank == 0) {
    snprintf(name, sizeof name, "%s/%d.%s.%d", folder, seed, where, job);
    close(open(name, O_CREAT | O_WRONLY, 0600));
    snprintf(name, sizeof name, "%s/%d.%s.%d", folder, seed, where, 1 - job);
    while (access(name, F_OK) != 0) usleep(2000);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void make_file(const Disk* disk) {
  static unsigned char all[kAll];
  unlink(disk->name);
  const int fd = open(disk->name, O_CREAT | O_WRONLY, 0600);
  memset(all, 0xa5, sizeof all);
  if (fd < 0 || (disk->filled && pwrite(fd, all, sizeof all, 0) != sizeof all)) {
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  close(fd);
}

static void know_all(Disk* disk) {
  MPI_Allreduce(MPI_IN_PLACE, disk->last, kCells + kTailCells, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
}

static void check_file(Disk* disk) {
  static unsigned char all[kAll];
  const int* const last = disk->last;
  know_all(disk);
  if (world_rank != 0) return;
  const int fd = open(disk->name, O_RDONLY);
  memset(all, 0, sizeof all);
  if (fd < 0 || pread(fd, all, sizeof all, 0) < 0) MPI_Abort(MPI_COMM_WORLD, 3);
  close(fd);
  for (int cell = 0; cell < kCells + kTailCells; ++cell) {
    const int who = cell < kCells ? owner(disk, cell) : -1;
    if (jobs > 1 && last[cell] == 0 && (who >= 0 || cell >= kCells)) continue; /* the other's */
    for (int i = 0; i < (cell < kCells ? disk->width : kMostBytes); ++i) {
      const long at = place_of(disk, cell) + i;
      const int wants = last[cell] == 0 ? -1 : value_at(last[cell], at);
      /* Sieving ends a file with what lay in memory. */
      if (wants < 0 && !disk->filled) continue;
      if (wants < 0 && all[at] != 0xa5) say_wrong("nobody wrote it", at, all[at], 0xa5);
      if (wants >= 0 && all[at] != wants) say_wrong("in the file", at, all[at], wants);
    }
  }
  char log[600];
  const char* const slash = strrchr(disk->name, '/');
  snprintf(log, sizeof log, "%.*s/.%s.iotune", (int)(slash - disk->name), disk->name, slash + 1);
  if (access(log, F_OK) == 0) say_wrong("a log is left", 0, 1, 0);
}

static void open_all(int half, int first, int last) {
  for (int i = first; i < last; ++i) {
    const uint64_t kept = state;
    if (kind < kOwnFiles || i == half) open_handle(&handles[i], MPI_MODE_RDWR);
    state = kept;
  }
}

static void drawn_program(void) {
  state = (uint64_t)seed * 77 + 1;
  for (int i = 0; i < 20; ++i) draw(2);
  memset(handles, 0, sizeof handles);
  memset(disks, 0, sizeof disks);
  version = 0;
  const int joint = draw(kKinds);
  kind = jobs > 1 ? joint % 2 : world_ranks < 3 ? joint % 3 % 2 : joint;
  const int count = kind == kOne ? 1 : 2, files = kind == kOwnFiles ? 2 : 1;
  const int half = kind < kOwnFiles ? 0 : world_rank % 2;
  const int width = 1 + draw(kMostBytes), layout = draw(4), posix = draw(3) == 0, full = draw(4);
  for (int i = 0; i < files; ++i) {
    disks[i] = (Disk){.width = width, .layout = layout, .posix = posix, .filled = full != 0};
    disks[i].writers = world_ranks * jobs * (kind == kTwoHandles ? 2 : 1);
    snprintf(disks[i].name, sizeof disks[i].name, "%s/%d.%d", folder, seed, i);
    if (world_rank == 0 && job == 0) make_file(&disks[i]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  meet_other_job("made");
  state += (uint64_t)job * 12345;
  own_state = state + (uint64_t)(job * world_ranks + world_rank + 1) * 1000003;
  MPI_Comm comm = MPI_COMM_WORLD;
  if (kind >= kOwnFiles) MPI_Comm_split(MPI_COMM_WORLD, half, 0, &comm);
  for (int i = 0; i < count; ++i) {
    Handle* const h = &handles[i];
    h->comm = comm;
    h->group = i;
    h->disk = &disks[files == 2 ? i : 0];
    int rank;
    MPI_Comm_rank(comm, &rank);
    const int handle = kind == kTwoHandles ? 2 * job + i : job;
    h->writer = kind == kInTurn ? rank : handle * world_ranks + world_rank;
    find_own(h);
  }
  for (int i = 0; i < files; ++i) posix_files[i] = open(disks[i].name, O_WRONLY);
  const int turns = kind == kInTurn ? 2 : 1, rounds = 2 + draw(6);
  for (int turn = 0; turn < turns; ++turn) {
    const int from = turns == 2 ? turn : 0, to = turns == 2 ? turn + 1 : count;
    open_all(half, from, to);
    for (int round = 0; round < rounds; ++round) {
      for (int i = from; i < to; ++i) play_round(&handles[i], kind < kOwnFiles || i == half);
      if (draw(2) == 0) write_by_posix(files == 2 ? draw(2) : 0);
      if (draw(5) != 0 || jobs > 1 || kind > kTwoHandles) continue;
      /* After a sync of all handles each cell may have another writer. */
      for (int pass = 0; pass < 2; ++pass) {
        for (int i = 0; i < count; ++i) {
          wait_for_requests(&handles[i]);
          CHECK(MPI_File_sync(handles[i].file));
        }
        MPI_Barrier(MPI_COMM_WORLD);
      }
      know_all(&disks[0]);
      disks[0].rotation += 1 + draw(3);
      for (int i = 0; i < count; ++i) {
        find_own(&handles[i]);
        if (handles[i].own_view) set_view(&handles[i], 0);
      }
    }
    for (int i = from; i < to; ++i) {
      if (handles[i].is_open) close_handle(&handles[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  for (int i = 0; i < files; ++i) close(posix_files[i]);
  if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
  MPI_Barrier(MPI_COMM_WORLD);
  meet_other_job("written");
  for (int i = 0; i < files; ++i) check_file(&disks[i]);
  meet_other_job("checked");
  if (world_rank != 0 || job != 0 || wrong != 0) return;
  for (int i = 0; i < files; ++i) unlink(disks[i].name);
}
