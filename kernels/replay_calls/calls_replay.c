/* iotune-replay-calls: reissues the POSIX and MPI-IO calls of a plan
 * (CALL_PLAN.md) in a directory of its own, and says how long they took. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calls_requests.h"
#include "replay_program.h"

static const char usage[] =
    "usage: mpirun -n RANKS iotune-replay-calls --file-dir DIR [--repeat N] [--cold] PLAN\n"
    "  --file-dir DIR  every file lies in DIR; files there may be replaced\n"
    "  --cold          what is read comes from the storage: no page of it is kept in memory\n"
    "  --repeat N      rounds, each from the same start\n"
    "  --help          print this\n";

struct slot {
  int descriptor; /* -1: closed */
  MPI_File handle;
  bool mpi;
  size_t file;
};

struct replay {
  const struct call_plan* plan;
  const char* dir;
  char* buffer;
  struct slot* slot;
  struct request* request;
  MPI_Comm* group; /* MPI_COMM_NULL where this rank is not in it */
};

static void path_of(const struct replay* replay, size_t file, char path[4096]) {
  int length = snprintf(path, 4096, "%s/%s", replay->dir, replay->plan->file[file].name);
  if (length < 0 || length >= 4096) calls_fail(replay->dir, "the path is too long");
}

static _Noreturn void fail_errno(const char* path, const char* what) {
  char message[256];
  snprintf(message, sizeof message, "%s: %s", what, strerror(errno));
  calls_fail(path, message);
}

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (long long)now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Sleeps until shortly before the moment, then waits busily: a sleep ends some 50 µs late. */
static void pause_for(long long ns) {
  const long long awake_ns = 100000, until = now_ns() + ns;
  if (ns > awake_ns) {
    long long sleep_until = until - awake_ns;
    struct timespec at = {(time_t)(sleep_until / 1000000000LL), (long)(sleep_until % 1000000000LL)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
    }
  }
  while (now_ns() < until) {
  }
}

/* A file that is read before it is written must exist, with blocks on disk and not as a hole.
 * Other files must not: the plan's own open makes them, as the program's did. */
static void prepare(const struct replay* replay, bool cold) {
  enum { CHUNK = 1 << 20 };
  char* chunk = malloc(CHUNK);
  if (chunk == NULL) calls_fail(replay->dir, "out of memory");
  memset(chunk, 0x5a, CHUNK);
  for (size_t i = 0; i < replay->plan->files; i++) {
    char path[4096];
    path_of(replay, i, path);
    if (replay->plan->file[i].prepared_bytes == 0) {
      if (unlink(path) != 0 && errno != ENOENT) fail_errno(path, "cannot be replaced");
      continue;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) fail_errno(path, "cannot be made");
    long long left = replay->plan->file[i].prepared_bytes;
    while (left > 0) {
      ssize_t wrote = write(fd, chunk, left < CHUNK ? (size_t)left : CHUNK);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) fail_errno(path, "cannot be filled");
      left -= wrote;
    }
    if (cold && fsync(fd) != 0) fail_errno(path, "cannot be taken out of memory");
    if (cold && (errno = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED)) != 0)
      fail_errno(path, "cannot be taken out of memory");
    if (close(fd) != 0) fail_errno(path, "cannot be filled");
  }
  free(chunk);
}

static void open_slot(struct replay* replay, const struct planned_call* call) {
  char path[4096];
  path_of(replay, call->target, path);
  struct slot* slot = &replay->slot[call->slot];
  if (slot->descriptor >= 0 || slot->mpi) calls_fail(path, "opened twice in one slot");
  slot->file = call->target;
  if (call->kind == CALL_OPEN) {
    slot->descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (slot->descriptor < 0) fail_errno(path, "cannot be opened");
    return;
  }
  MPI_Comm comm = call->group < 0 ? MPI_COMM_SELF : replay->group[call->group];
  if (comm == MPI_COMM_NULL) calls_fail(path, "opened in a group that this rank is not in");
  calls_need(
      MPI_File_open(comm, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &slot->handle),
      path, "MPI_File_open");
  slot->mpi = true;
}

static void move(struct replay* replay, const struct slot* slot, const struct planned_call* call) {
  const char* name = replay->plan->file[slot->file].name;
  size_t length = (size_t)call->length;
  ssize_t moved = call->kind == CALL_READ
                      ? pread(slot->descriptor, replay->buffer, length, (off_t)call->offset)
                      : pwrite(slot->descriptor, replay->buffer, length, (off_t)call->offset);
  if (moved < 0) fail_errno(name, call->kind == CALL_READ ? "a read failed" : "a write failed");
  if (call->kind == CALL_WRITE && moved != (ssize_t)length) calls_fail(name, "a write was cut");
}

/* Makes one call. Returns the bytes that it moved. */
static long long reissue(struct replay* replay, const struct planned_call* call) {
  if (call->kind == CALL_OPEN || call->kind == CALL_MPI_OPEN) {
    open_slot(replay, call);
    return 0;
  }
  if (call->kind == CALL_AIO_WAIT || call->kind == CALL_MPI_WAIT) {
    request_complete(&replay->request[call->request],
                     call->kind == CALL_AIO_WAIT ? REQUEST_AIO : REQUEST_MPI);
    return 0;
  }
  struct slot* slot = &replay->slot[call->slot];
  const char* name = replay->plan->file[slot->file].name;
  bool mpi = call->kind >= CALL_MPI_OPEN;
  if (mpi ? !slot->mpi : slot->descriptor < 0) calls_fail(name, "used before it is opened");
  switch (call->kind) {
    case CALL_CLOSE:
      if (close(slot->descriptor) != 0) fail_errno(name, "cannot be closed");
      slot->descriptor = -1;
      return 0;
    case CALL_SYNC:
      if (fsync(slot->descriptor) != 0) fail_errno(name, "fsync");
      return 0;
    case CALL_READ:
    case CALL_WRITE:
      move(replay, slot, call);
      return call->length;
    case CALL_AIO_READ:
    case CALL_AIO_WRITE:
      request_begin_aio(&replay->request[call->request], slot->descriptor, name, call,
                        replay->buffer);
      return call->length;
    case CALL_MPI_IREAD:
    case CALL_MPI_IWRITE:
    case CALL_MPI_IREAD_ALL:
    case CALL_MPI_IWRITE_ALL:
      request_begin_mpi(&replay->request[call->request], slot->handle, name, call, replay->buffer);
      return call->length;
    case CALL_MPI_READ_ALL_END:
    case CALL_MPI_WRITE_ALL_END:
      calls_mpi_end(slot->handle, name, call, replay->buffer);
      return 0;
    case CALL_MPI_CLOSE:
      calls_need(MPI_File_close(&slot->handle), name, "MPI_File_close");
      slot->mpi = false;
      return 0;
    case CALL_MPI_SYNC:
      calls_need(MPI_File_sync(slot->handle), name, "MPI_File_sync");
      return 0;
    case CALL_MPI_VIEW:
      calls_set_view(slot->handle, name, &replay->plan->view[call->target]);
      return 0;
    default:
      calls_mpi_move(slot->handle, name, call, replay->buffer);
      return call->length;
  }
}

/* Makes all calls of this rank once. Returns the bytes that they moved; `call_seconds` gets the
 * time inside them. */
static long long run(struct replay* replay, double* call_seconds) {
  const struct call_plan* plan = replay->plan;
  long long bytes = 0, inside_ns = 0;
  for (size_t i = 0; i < plan->slots; i++) replay->slot[i] = (struct slot){.descriptor = -1};
  for (size_t i = 0; i < plan->calls; i++) {
    if (plan->call[i].pause_ns > 0) pause_for(plan->call[i].pause_ns);
    long long start = now_ns();
    bytes += reissue(replay, &plan->call[i]);
    inside_ns += now_ns() - start;
  }
  for (size_t i = 0; i < plan->requests; i++)
    if (replay->request[i].state != REQUEST_FREE)
      calls_fail(replay->request[i].file, "a transfer is never waited for");
  for (size_t i = 0; i < plan->slots; i++) {
    if (replay->slot[i].descriptor >= 0) close(replay->slot[i].descriptor);
    if (replay->slot[i].mpi) calls_fail(plan->file[replay->slot[i].file].name, "never closed");
  }
  *call_seconds = (double)inside_ns / 1e9;
  return bytes;
}

static void make_groups(struct replay* replay, int rank) {
  const struct call_plan* plan = replay->plan;
  replay->group = calloc(plan->groups + 1, sizeof(MPI_Comm));
  if (replay->group == NULL) calls_fail(replay->dir, "out of memory");
  for (size_t i = 0; i < plan->groups; i++) {
    bool member = false;
    for (size_t k = 0; k < plan->group[i].ranks; k++) member |= plan->group[i].rank[k] == rank;
    calls_need(MPI_Comm_split(MPI_COMM_WORLD, member ? 0 : MPI_UNDEFINED, rank, &replay->group[i]),
               replay->dir, "MPI_Comm_split");
  }
}

static void replay_rounds(struct replay* replay, int rank, int rounds, bool cold) {
  double total = 0, in_calls = 0;
  long long bytes = 0;
  double* seconds = calloc((size_t)rounds, sizeof *seconds);
  if (seconds == NULL) calls_fail(replay->dir, "out of memory");
  for (int round = 0; round < rounds; round++) {
    double mine[2], slowest[2];
    if (rank == 0) prepare(replay, cold);
    MPI_Barrier(MPI_COMM_WORLD);
    long long start = now_ns();
    bytes += run(replay, &mine[1]);
    mine[0] = (double)(now_ns() - start) / 1e9;
    MPI_Allreduce(mine, slowest, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    seconds[round] = slowest[0];
    total += slowest[0];
    in_calls += slowest[1];
  }
  long long all_bytes = 0, calls = (long long)replay->plan->calls, all_calls = 0;
  MPI_Reduce(&bytes, &all_bytes, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&calls, &all_calls, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf(
        "{\"bytes\": %lld, \"seconds\": %.6f, \"call_seconds\": %.6f, \"calls\": %lld, "
        "\"files\": %zu",
        all_bytes, total, in_calls, all_calls, replay->plan->files);
    replay_print_numbers("rounds", seconds, (size_t)rounds);
    printf("}\n");
  }
  free(seconds);
}

static int replay_plan(const struct call_plan* plan, const struct replay_options* options, int rank,
                       bool cold) {
  struct replay replay = {.plan = plan, .dir = options->file_dir};
  size_t room = plan->largest_transfer > 0 ? (size_t)plan->largest_transfer : 1;
  replay.buffer = malloc(room);
  replay.slot = calloc(plan->slots + 1, sizeof *replay.slot);
  if (replay.buffer == NULL || replay.slot == NULL) calls_fail(replay.dir, "out of memory");
  for (size_t i = 0; i < room; i++) replay.buffer[i] = (char)(i * 31 + (size_t)rank);
  replay.request = requests_made(plan);
  make_groups(&replay, rank);
  replay_rounds(&replay, rank, options->repeat, cold);
  for (size_t i = 0; i < plan->groups; i++) {
    if (replay.group[i] != MPI_COMM_NULL) MPI_Comm_free(&replay.group[i]);
  }
  free(replay.group);
  free(replay.slot);
  requests_free(replay.request, plan->requests);
  free(replay.buffer);
  return 0;
}

int main(int argc, char** argv) {
  bool cold = false;
  const struct replay_flag flags[] = {{"--cold", &cold}, {NULL, NULL}};
  struct replay_options options = {
      .program = "iotune-replay-calls", .usage = usage, .flag = flags, .needs_dir = true};
  struct plan_reader reader = {0};
  struct call_plan plan;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &reader.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &reader.ranks);
  int status = replay_read_options(argc, argv, reader.rank, &options);
  if (status < 0) {
    reader.path = options.plan;
    bool right = plan_is_agreed(&reader, call_plan_read(&reader, &plan));
    status = right ? replay_plan(&plan, &options, reader.rank, cold) : 1;
    call_plan_free(&plan);
  }
  MPI_Finalize();
  return status;
}
