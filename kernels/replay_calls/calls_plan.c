#include "calls_plan.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parser {
  const char* path;
  size_t line;
  char* next; /* what is left of the line */
  int rank;
  struct call_plan* plan;
  char* error;
};

static bool refuse(struct parser* parser, const char* why) {
  snprintf(parser->error, 512, "%s:%zu: %s", parser->path, parser->line, why);
  return false;
}

/* The array with room for one element more, all zero; NULL without memory. */
static void* grown(void* array, size_t count, size_t bytes) {
  if (count == 0 || (count >= 16 && (count & (count - 1)) == 0) || array == NULL) {
    size_t room = count < 16 ? 16 : 2 * count;
    array = realloc(array, room * bytes);
  }
  if (array != NULL) memset((char*)array + count * bytes, 0, bytes);
  return array;
}

static char* word(struct parser* parser) {
  char* start = parser->next + strspn(parser->next, " \t\n");
  if (*start == '\0') return NULL;
  parser->next = start + strcspn(start, " \t\n");
  if (*parser->next != '\0') *parser->next++ = '\0';
  return start;
}

static bool number(struct parser* parser, long long least, long long most, long long* value) {
  char* text = word(parser);
  if (text == NULL) return refuse(parser, "a number is missing");
  char* end;
  errno = 0;
  *value = strtoll(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0') return refuse(parser, "not a number");
  if (*value < least || *value > most) return refuse(parser, "a number out of range");
  return true;
}

static bool index_of(struct parser* parser, size_t count, size_t* value) {
  if (count == 0) return refuse(parser, "nothing of this kind was declared");
  long long found;
  if (!number(parser, 0, (long long)count - 1, &found)) return false;
  *value = (size_t)found;
  return true;
}

static const long long largest = LLONG_MAX;

static bool read_file(struct parser* parser) {
  struct call_plan* plan = parser->plan;
  long long id, bytes;
  if (!number(parser, (long long)plan->files, (long long)plan->files, &id)) return false;
  const char* name = word(parser);
  if (name == NULL || strchr(name, '/') != NULL || name[0] == '.')
    return refuse(parser, "a file's name, without a directory, is missing");
  if (!number(parser, 0, largest, &bytes)) return false;
  plan->file = grown(plan->file, plan->files, sizeof *plan->file);
  if (plan->file == NULL) return refuse(parser, "out of memory");
  plan->file[plan->files++] = (struct planned_file){strdup(name), bytes};
  return true;
}

static bool read_group(struct parser* parser) {
  struct call_plan* plan = parser->plan;
  long long id, rank;
  if (!number(parser, (long long)plan->groups, (long long)plan->groups, &id)) return false;
  plan->group = grown(plan->group, plan->groups, sizeof *plan->group);
  if (plan->group == NULL) return refuse(parser, "out of memory");
  struct planned_group* group = &plan->group[plan->groups++];
  while (strspn(parser->next, " \t\n") != strlen(parser->next)) {
    if (!number(parser, 0, plan->ranks - 1, &rank)) return false;
    group->rank = grown(group->rank, group->ranks, sizeof *group->rank);
    if (group->rank == NULL) return refuse(parser, "out of memory");
    group->rank[group->ranks++] = (int)rank;
  }
  return true;
}

static bool read_view(struct parser* parser) {
  struct call_plan* plan = parser->plan;
  long long id, kind;
  if (!number(parser, (long long)plan->views, (long long)plan->views, &id)) return false;
  plan->view = grown(plan->view, plan->views, sizeof *plan->view);
  if (plan->view == NULL) return refuse(parser, "out of memory");
  struct planned_view* view = &plan->view[plan->views++];
  if (!number(parser, 0, largest, &view->displacement) ||
      !number(parser, 1, 1 << 30, &view->element_bytes) ||
      !number(parser, 0, largest, &view->tile_bytes) || !number(parser, 0, 2, &kind))
    return false;
  view->kind = (enum view_kind)kind;
  long long value;
  while (strspn(parser->next, " \t\n") != strlen(parser->next)) {
    if (!number(parser, 0, largest, &value)) return false;
    view->layout = grown(view->layout, view->numbers, sizeof *view->layout);
    if (view->layout == NULL) return refuse(parser, "out of memory");
    view->layout[view->numbers++] = value;
  }
  bool fits = view->kind == VIEW_ALL || (view->kind == VIEW_RUNS && view->numbers % 4 == 0) ||
              (view->kind == VIEW_SUBARRAY && view->numbers % 3 == 1);
  return fits || refuse(parser, "a view whose layout is cut");
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

static bool read_call(struct parser* parser, const char* rank_word) {
  struct call_plan* plan = parser->plan;
  char* end;
  long rank = strtol(rank_word, &end, 10);
  if (end == rank_word || *end != '\0' || rank < 0 || rank >= plan->ranks)
    return refuse(parser, "neither a statement nor a rank");
  if (rank != parser->rank) return true;
  const char* name = word(parser);
  int kind = 0;
  while (kind < CALL_KINDS && (name == NULL || strcmp(name, kind_names[kind]) != 0)) kind++;
  if (kind == CALL_KINDS) return refuse(parser, "no such call");
  struct planned_call call = {.kind = (enum call_kind)kind, .group = -1};
  long long slot, group, request;
  if (!waits(call.kind)) {
    if (!number(parser, 0, 1 << 28, &slot)) return false;
    call.slot = (size_t)slot;
    if (call.slot >= plan->slots) plan->slots = call.slot + 1;
  }
  if (kind == CALL_OPEN || kind == CALL_MPI_OPEN) {
    if (!index_of(parser, plan->files, &call.target)) return false;
    if (kind == CALL_MPI_OPEN) {
      if (!number(parser, -1, (long long)plan->groups - 1, &group)) return false;
      call.group = (int)group;
    }
  } else if (kind == CALL_MPI_VIEW) {
    if (!index_of(parser, plan->views, &call.target)) return false;
  } else if (moves(call.kind)) {
    if (!number(parser, 0, largest, &call.offset) || !number(parser, 0, largest, &call.length))
      return false;
    if (call.length > plan->largest_transfer) plan->largest_transfer = call.length;
  }
  if (waits(call.kind) || begins(call.kind)) {
    if (!number(parser, 0, 1 << 24, &request)) return false;
    call.request = (size_t)request;
    if (call.request >= plan->requests) plan->requests = call.request + 1;
  }
  if (!number(parser, 0, largest, &call.pause_ns)) return false;
  plan->call = grown(plan->call, plan->calls, sizeof *plan->call);
  if (plan->call == NULL) return refuse(parser, "out of memory");
  plan->call[plan->calls++] = call;
  return true;
}

static bool read_statement(struct parser* parser) {
  long long value;
  const char* first = word(parser);
  if (first == NULL || first[0] == '#') return true;
  if (parser->line == 1) {
    bool known = strcmp(first, "iotune-calls") == 0 && number(parser, 1, 1, &value);
    return known || refuse(parser, "'iotune-calls 1' expected");
  }
  if (parser->plan->ranks == 0) {
    if (strcmp(first, "ranks") != 0) return refuse(parser, "'ranks N' expected");
    if (!number(parser, 1, 1 << 20, &value)) return false;
    parser->plan->ranks = (int)value;
    return true;
  }
  if (strcmp(first, "file") == 0) return read_file(parser);
  if (strcmp(first, "group") == 0) return read_group(parser);
  if (strcmp(first, "view") == 0) return read_view(parser);
  return read_call(parser, first);
}

bool call_plan_read(const char* path, int rank, struct call_plan* plan, char error[512]) {
  *plan = (struct call_plan){0};
  struct parser parser = {.path = path, .rank = rank, .plan = plan, .error = error};
  FILE* file = fopen(path, "r");
  if (file == NULL) {
    snprintf(error, 512, "%s: %s", path, strerror(errno));
    return false;
  }
  char* line = NULL;
  size_t room = 0;
  bool good = true;
  while (good && getline(&line, &room, file) >= 0) {
    parser.line++;
    parser.next = line;
    good = read_statement(&parser);
  }
  free(line);
  fclose(file);
  if (good && plan->ranks == 0) good = refuse(&parser, "'ranks N' is missing");
  return good;
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
