#include "calls_plan.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const long long largest = LLONG_MAX;

static bool read_file(struct plan_reader* reader) {
  struct call_plan* plan = reader->plan;
  long long id = (long long)plan->files, bytes;
  if (!plan_number(reader, "a file's number", id, id, &id)) return false;
  const char* name = plan_word(reader);
  if (name == NULL || strchr(name, '/') != NULL || name[0] == '.')
    return plan_refuse(reader, "a file's name, without a directory, is missing");
  if (!plan_number(reader, "BYTES", 0, largest, &bytes)) return false;
  struct planned_file* file =
      plan_append(reader, (void**)&plan->file, &plan->files, sizeof *plan->file);
  if (file == NULL) return false;
  *file = (struct planned_file){strdup(name), bytes};
  return file->name != NULL || plan_refuse(reader, "out of memory");
}

static bool read_group(struct plan_reader* reader) {
  struct call_plan* plan = reader->plan;
  long long id = (long long)plan->groups, rank;
  if (!plan_number(reader, "a group's number", id, id, &id)) return false;
  struct planned_group* group =
      plan_append(reader, (void**)&plan->group, &plan->groups, sizeof *plan->group);
  if (group == NULL) return false;
  while (plan_has_more(reader)) {
    if (!plan_number(reader, "RANK", 0, reader->ranks - 1, &rank)) return false;
    int* member = plan_append(reader, (void**)&group->rank, &group->ranks, sizeof *member);
    if (member == NULL) return false;
    *member = (int)rank;
  }
  return true;
}

static bool read_view(struct plan_reader* reader) {
  struct call_plan* plan = reader->plan;
  long long id = (long long)plan->views, kind;
  if (!plan_number(reader, "a view's number", id, id, &id)) return false;
  struct planned_view* view =
      plan_append(reader, (void**)&plan->view, &plan->views, sizeof *plan->view);
  if (view == NULL) return false;
  if (!plan_number(reader, "DISPLACEMENT", 0, largest, &view->displacement) ||
      !plan_number(reader, "ELEMENT", 1, 1 << 30, &view->element_bytes) ||
      !plan_number(reader, "TILE", 0, largest, &view->tile_bytes) ||
      !plan_number(reader, "KIND", 0, 2, &kind))
    return false;
  view->kind = (enum view_kind)kind;
  while (plan_has_more(reader)) {
    long long* value =
        plan_append(reader, (void**)&view->layout, &view->numbers, sizeof *view->layout);
    if (value == NULL || !plan_number(reader, "a view's number", 0, largest, value)) return false;
  }
  bool fits = view->kind == VIEW_ALL || (view->kind == VIEW_RUNS && view->numbers % 4 == 0) ||
              (view->kind == VIEW_SUBARRAY && view->numbers % 3 == 1);
  return fits || plan_refuse(reader, "a view whose layout is cut");
}

static const char* const kind_names[CALL_KINDS] = {
    [CALL_OPEN] = "open",
    [CALL_CLOSE] = "close",
    [CALL_READ] = "read",
    [CALL_WRITE] = "write",
    [CALL_SYNC] = "sync",
    [CALL_AIO_READ] = "aio-read",
    [CALL_AIO_WRITE] = "aio-write",
    [CALL_AIO_WAIT] = "aio-wait",
    [CALL_MPI_OPEN] = "mpi-open",
    [CALL_MPI_CLOSE] = "mpi-close",
    [CALL_MPI_READ] = "mpi-read",
    [CALL_MPI_WRITE] = "mpi-write",
    [CALL_MPI_READ_ALL] = "mpi-read-all",
    [CALL_MPI_WRITE_ALL] = "mpi-write-all",
    [CALL_MPI_SYNC] = "mpi-sync",
    [CALL_MPI_VIEW] = "mpi-view",
    [CALL_MPI_IREAD] = "mpi-iread",
    [CALL_MPI_IWRITE] = "mpi-iwrite",
    [CALL_MPI_IREAD_ALL] = "mpi-iread-all",
    [CALL_MPI_IWRITE_ALL] = "mpi-iwrite-all",
    [CALL_MPI_WAIT] = "mpi-wait",
    [CALL_MPI_READ_ALL_BEGIN] = "mpi-read-all-begin",
    [CALL_MPI_WRITE_ALL_BEGIN] = "mpi-write-all-begin",
    [CALL_MPI_READ_ALL_END] = "mpi-read-all-end",
    [CALL_MPI_WRITE_ALL_END] = "mpi-write-all-end",
};

static bool waits(enum call_kind kind) {
  return kind == CALL_AIO_WAIT || kind == CALL_MPI_WAIT;
}

static bool begins(enum call_kind kind) {
  return kind == CALL_AIO_READ || kind == CALL_AIO_WRITE ||
         (kind >= CALL_MPI_IREAD && kind <= CALL_MPI_IWRITE_ALL);
}

static bool moves(enum call_kind kind) {
  return kind == CALL_READ || kind == CALL_WRITE || begins(kind) ||
         (kind >= CALL_MPI_READ && kind <= CALL_MPI_WRITE_ALL) || kind == CALL_MPI_READ_ALL_BEGIN ||
         kind == CALL_MPI_WRITE_ALL_BEGIN;
}

static bool read_call(struct plan_reader* reader, const char* rank_word) {
  struct call_plan* plan = reader->plan;
  char* end;
  long rank = strtol(rank_word, &end, 10);
  if (end == rank_word || *end != '\0' || rank < 0 || rank >= reader->ranks)
    return plan_refuse(reader, "'%s' is neither a statement nor a rank", rank_word);
  if (rank != reader->rank) return true;
  const char* name = plan_word(reader);
  int kind = 0;
  while (kind < CALL_KINDS && (name == NULL || strcmp(name, kind_names[kind]) != 0)) kind++;
  if (kind == CALL_KINDS) return plan_refuse(reader, "there is no such call");
  struct planned_call* call =
      plan_append(reader, (void**)&plan->call, &plan->calls, sizeof *plan->call);
  if (call == NULL) return false;
  *call = (struct planned_call){.kind = (enum call_kind)kind, .group = -1};
  long long group;
  if (!waits(call->kind)) {
    if (!plan_index(reader, "SLOT", 1 << 28, &call->slot)) return false;
    if (call->slot >= plan->slots) plan->slots = call->slot + 1;
  }
  if (kind == CALL_OPEN || kind == CALL_MPI_OPEN) {
    if (!plan_index(reader, "a file's number", plan->files, &call->target)) return false;
    if (kind == CALL_MPI_OPEN) {
      if (!plan_number(reader, "a group's number", -1, (long long)plan->groups - 1, &group))
        return false;
      call->group = (int)group;
    }
  } else if (kind == CALL_MPI_VIEW) {
    if (!plan_index(reader, "a view's number", plan->views, &call->target)) return false;
  } else if (moves(call->kind)) {
    if (!plan_number(reader, "OFFSET", 0, largest, &call->offset) ||
        !plan_number(reader, "LENGTH", 0, largest, &call->length))
      return false;
    if (call->length > plan->largest_transfer) plan->largest_transfer = call->length;
  }
  if (waits(call->kind) || begins(call->kind)) {
    if (!plan_index(reader, "REQUEST", 1 << 24, &call->request)) return false;
    if (call->request >= plan->requests) plan->requests = call->request + 1;
  }
  return plan_number(reader, "PAUSE", 0, largest, &call->pause_ns);
}

static bool read_statement(struct plan_reader* reader, const char* word) {
  if (strcmp(word, "file") == 0) return read_file(reader);
  if (strcmp(word, "group") == 0) return read_group(reader);
  if (strcmp(word, "view") == 0) return read_view(reader);
  return read_call(reader, word);
}

bool call_plan_read(struct plan_reader* reader, struct call_plan* plan) {
  *plan = (struct call_plan){0};
  reader->plan = plan;
  reader->format = "iotune-calls";
  reader->newest = 1;
  reader->statement = read_statement;
  return plan_read_lines(reader);
}

void call_plan_free(struct call_plan* plan) {
  for (size_t i = 0; i < plan->files; i++) free(plan->file[i].name);
  for (size_t i = 0; i < plan->groups; i++) free(plan->group[i].rank);
  for (size_t i = 0; i < plan->views; i++) free(plan->view[i].layout);
  free(plan->file);
  free(plan->group);
  free(plan->view);
  free(plan->call);
  *plan = (struct call_plan){0};
}
