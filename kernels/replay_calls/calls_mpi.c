#include "calls_mpi.h"

#include <limits.h>
#include <stdlib.h>

#include "run_failure.h"

static const char program[] = "iotune-replay-calls";

_Noreturn void calls_fail(const char* file, const char* what) {
  run_fail(program, file, what);
}

void calls_need(int code, const char* file, const char* what) {
  run_need(program, code, file, what);
}

/* A committed type of so many contiguous bytes, however many. */
static MPI_Datatype bytes_type(const char* file, long long bytes) {
  enum { CHUNK = 1 << 30 };
  MPI_Datatype type, chunk;
  if (bytes <= INT_MAX) {
    calls_need(MPI_Type_contiguous((int)bytes, MPI_BYTE, &type), file, "MPI_Type_contiguous");
  } else {
    if (bytes / CHUNK > INT_MAX) calls_fail(file, "a transfer that no memory can hold");
    calls_need(MPI_Type_contiguous(CHUNK, MPI_BYTE, &chunk), file, "MPI_Type_contiguous");
    int lengths[2] = {(int)(bytes / CHUNK), (int)(bytes % CHUNK)};
    MPI_Aint places[2] = {0, (MPI_Aint)(bytes - bytes % CHUNK)};
    MPI_Datatype types[2] = {chunk, MPI_BYTE};
    calls_need(MPI_Type_create_struct(2, lengths, places, types, &type), file,
               "MPI_Type_create_struct");
    MPI_Type_free(&chunk);
  }
  calls_need(MPI_Type_commit(&type), file, "MPI_Type_commit");
  return type;
}

static MPI_Datatype subarray_type(const char* file, const struct planned_view* view) {
  enum { MOST = 32 };
  int n = (int)(view->numbers / 3);
  int sizes[MOST], subsizes[MOST], starts[MOST];
  if (n < 1 || n > MOST) calls_fail(file, "a view of too many dimensions");
  for (int d = 0; d < n; d++) {
    const long long* of = view->layout + 1 + d;
    if (of[0] > INT_MAX || of[n] > INT_MAX || of[2 * n] > INT_MAX)
      calls_fail(file, "a view that is too large");
    sizes[d] = (int)of[0];
    subsizes[d] = (int)of[n];
    starts[d] = (int)of[2 * n];
  }
  MPI_Datatype element = bytes_type(file, view->layout[0]), type;
  calls_need(MPI_Type_create_subarray(n, sizes, subsizes, starts, MPI_ORDER_C, element, &type),
             file, "MPI_Type_create_subarray");
  MPI_Type_free(&element);
  return type;
}

static MPI_Datatype runs_type(const char* file, const struct planned_view* view) {
  size_t runs = view->numbers / 4;
  if (runs < 1 || runs > INT_MAX) calls_fail(file, "a view of too many pieces");
  int* counts = calloc(runs, sizeof *counts);
  MPI_Aint* places = calloc(runs, sizeof *places);
  MPI_Datatype* types = calloc(runs, sizeof(MPI_Datatype));
  if (counts == NULL || places == NULL || types == NULL) calls_fail(file, "out of memory");
  for (size_t i = 0; i < runs; i++) {
    const long long* run = view->layout + 4 * i; /* offset, bytes, stride, count */
    MPI_Datatype piece = bytes_type(file, run[1]);
    if (run[3] > INT_MAX) calls_fail(file, "a view of too many pieces");
    calls_need(MPI_Type_create_hvector((int)run[3], 1, (MPI_Aint)run[2], piece, &types[i]), file,
               "MPI_Type_create_hvector");
    MPI_Type_free(&piece);
    counts[i] = 1;
    places[i] = (MPI_Aint)run[0];
  }
  MPI_Datatype type;
  calls_need(MPI_Type_create_struct((int)runs, counts, places, types, &type), file,
             "MPI_Type_create_struct");
  for (size_t i = 0; i < runs; i++) MPI_Type_free(&types[i]);
  free(counts);
  free(places);
  free(types);
  return type;
}

void calls_set_view(MPI_File handle, const char* file, const struct planned_view* view) {
  MPI_Datatype element = bytes_type(file, view->element_bytes), tile;
  if (view->kind == VIEW_ALL) {
    calls_need(MPI_Type_contiguous(1, element, &tile), file, "MPI_Type_contiguous");
  } else {
    MPI_Datatype data =
        view->kind == VIEW_SUBARRAY ? subarray_type(file, view) : runs_type(file, view);
    calls_need(MPI_Type_create_resized(data, 0, (MPI_Aint)view->tile_bytes, &tile), file,
               "MPI_Type_create_resized");
    MPI_Type_free(&data);
  }
  calls_need(MPI_Type_commit(&tile), file, "MPI_Type_commit");
  calls_need(MPI_File_set_view(handle, (MPI_Offset)view->displacement, element, tile, "native",
                               MPI_INFO_NULL),
             file, "MPI_File_set_view");
  MPI_Type_free(&tile);
  MPI_Type_free(&element);
}

MPI_Datatype calls_type(const char* file, long long bytes, int* count) {
  *count = bytes > INT_MAX ? 1 : (int)bytes;
  return bytes > INT_MAX ? bytes_type(file, bytes) : MPI_BYTE;
}

void calls_mpi_move(MPI_File handle, const char* file, const struct planned_call* call,
                    char* buffer) {
  int count;
  MPI_Datatype type = calls_type(file, call->length, &count);
  MPI_Offset at = (MPI_Offset)call->offset;
  MPI_Status status;
  int code;
  switch (call->kind) {
    case CALL_MPI_READ:
      code = MPI_File_read_at(handle, at, buffer, count, type, &status);
      break;
    case CALL_MPI_WRITE:
      code = MPI_File_write_at(handle, at, buffer, count, type, &status);
      break;
    case CALL_MPI_READ_ALL_BEGIN:
      code = MPI_File_read_at_all_begin(handle, at, buffer, count, type);
      break;
    case CALL_MPI_WRITE_ALL_BEGIN:
      code = MPI_File_write_at_all_begin(handle, at, buffer, count, type);
      break;
    case CALL_MPI_READ_ALL:
      code = MPI_File_read_at_all(handle, at, buffer, count, type, &status);
      break;
    default:
      code = MPI_File_write_at_all(handle, at, buffer, count, type, &status);
      break;
  }
  calls_need(code, file, "a transfer");
  if (type != MPI_BYTE) MPI_Type_free(&type);
}

void calls_mpi_end(MPI_File handle, const char* file, const struct planned_call* call,
                   char* buffer) {
  MPI_Status status;
  int code = call->kind == CALL_MPI_READ_ALL_END
                 ? MPI_File_read_at_all_end(handle, buffer, &status)
                 : MPI_File_write_at_all_end(handle, buffer, &status);
  calls_need(code, file, "the end of a split transfer");
}
