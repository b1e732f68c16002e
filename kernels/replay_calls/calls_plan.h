/* A plan of calls (CALL_PLAN.md) as one rank needs it: other ranks' calls are
 * skipped, not kept. */
#ifndef IOTUNE_CALLS_PLAN_H
#define IOTUNE_CALLS_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "plan_reader.h"

enum call_kind {
  CALL_OPEN,
  CALL_CLOSE,
  CALL_READ,
  CALL_WRITE,
  CALL_SYNC,
  CALL_AIO_READ,
  CALL_AIO_WRITE,
  CALL_AIO_WAIT,
  CALL_MPI_OPEN,
  CALL_MPI_CLOSE,
  CALL_MPI_READ,
  CALL_MPI_WRITE,
  CALL_MPI_READ_ALL,
  CALL_MPI_WRITE_ALL,
  CALL_MPI_SYNC,
  CALL_MPI_VIEW,
  CALL_MPI_IREAD,
  CALL_MPI_IWRITE,
  CALL_MPI_IREAD_ALL,
  CALL_MPI_IWRITE_ALL,
  CALL_MPI_WAIT,
  CALL_MPI_READ_ALL_BEGIN,
  CALL_MPI_WRITE_ALL_BEGIN,
  CALL_MPI_READ_ALL_END,
  CALL_MPI_WRITE_ALL_END,
  CALL_KINDS
};

struct planned_call {
  enum call_kind kind;
  size_t slot;              /* an open file, by a number of the plan's choice */
  size_t target;            /* of an open the file, of a view the view */
  size_t request;           /* of what is begun and waited for, by a number likewise */
  int group;                /* of an MPI open; -1: the rank for itself */
  long long offset, length; /* POSIX: bytes; MPI-IO: elements of the view, bytes */
  long long pause_ns;       /* before the call */
};

struct planned_file {
  char* name;               /* without a directory */
  long long prepared_bytes; /* written before the calls begin */
};

struct planned_group {
  size_t ranks;
  int* rank;
};

enum view_kind { VIEW_ALL = 0, VIEW_SUBARRAY = 1, VIEW_RUNS = 2 };

struct planned_view {
  enum view_kind kind;
  long long displacement, element_bytes, tile_bytes;
  size_t numbers;
  long long* layout;
};

struct call_plan {
  size_t files, groups, views, calls, slots, requests;
  struct planned_file* file;
  struct planned_group* group;
  struct planned_view* view;
  struct planned_call* call;
  long long largest_transfer; /* of this rank, bytes */
};

/* False with the reader's `why`. The plan is freed in both cases by call_plan_free. */
bool call_plan_read(struct plan_reader* reader, struct call_plan* plan);
void call_plan_free(struct call_plan* plan);

#endif
