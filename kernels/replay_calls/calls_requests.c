#include "calls_requests.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int reads(enum call_kind kind) {
  return kind == CALL_AIO_READ || kind == CALL_MPI_IREAD || kind == CALL_MPI_IREAD_ALL;
}

struct request* requests_made(const struct call_plan* plan) {
  struct request* requests = calloc(plan->requests + 1, sizeof *requests);
  long long* room = calloc(plan->requests + 1, sizeof *room);
  if (requests == NULL || room == NULL) calls_fail("memory", "there is not enough for requests");
  for (size_t i = 0; i < plan->calls; i++) {
    const struct planned_call* call = &plan->call[i];
    if (reads(call->kind) && call->length > room[call->request]) room[call->request] = call->length;
  }
  for (size_t i = 0; i < plan->requests; i++) {
    if (room[i] == 0) continue;
    requests[i].buffer = malloc((size_t)room[i]);
    if (requests[i].buffer == NULL) calls_fail("memory", "there is not enough for requests");
    memset(requests[i].buffer, 1, (size_t)room[i]); /* the first touch of a page is no I/O */
  }
  free(room);
  return requests;
}

void requests_free(struct request* requests, size_t count) {
  for (size_t i = 0; i < count; i++) free(requests[i].buffer);
  free(requests);
}

static void take(struct request* request, const char* file, int state) {
  if (request->state != REQUEST_FREE) calls_fail(file, "a request that is under way already");
  request->state = state;
  request->file = file;
}

void request_begin_aio(struct request* request, int descriptor, const char* file,
                       const struct planned_call* call, char* buffer) {
  take(request, file, REQUEST_AIO);
  int write = call->kind == CALL_AIO_WRITE;
  memset(&request->aio, 0, sizeof request->aio);
  request->aio.aio_fildes = descriptor;
  request->aio.aio_offset = (off_t)call->offset;
  request->aio.aio_nbytes = (size_t)call->length;
  request->aio.aio_buf = write || request->buffer == NULL ? buffer : request->buffer;
  request->aio.aio_sigevent.sigev_notify = SIGEV_NONE;
  if ((write ? aio_write(&request->aio) : aio_read(&request->aio)) != 0)
    calls_fail(file, "an asynchronous transfer cannot be begun");
}

void request_begin_mpi(struct request* request, MPI_File handle, const char* file,
                       const struct planned_call* call, char* buffer) {
  take(request, file, REQUEST_MPI);
  int count;
  MPI_Datatype type = calls_type(file, call->length, &count);
  MPI_Offset at = (MPI_Offset)call->offset;
  char* into = request->buffer != NULL ? request->buffer : buffer;
  int code;
  switch (call->kind) {
    case CALL_MPI_IREAD:
      code = MPI_File_iread_at(handle, at, into, count, type, &request->handle);
      break;
    case CALL_MPI_IWRITE:
      code = MPI_File_iwrite_at(handle, at, buffer, count, type, &request->handle);
      break;
    case CALL_MPI_IREAD_ALL:
      code = MPI_File_iread_at_all(handle, at, into, count, type, &request->handle);
      break;
    default:
      code = MPI_File_iwrite_at_all(handle, at, buffer, count, type, &request->handle);
      break;
  }
  calls_need(code, file, "a non-blocking transfer");
  if (type != MPI_BYTE) MPI_Type_free(&type);
}

static void complete_aio(struct request* request) {
  const struct aiocb* const list[1] = {&request->aio};
  int state;
  while ((state = aio_error(&request->aio)) == EINPROGRESS)
    if (aio_suspend(list, 1, NULL) != 0 && errno != EINTR)
      calls_fail(request->file, "an asynchronous transfer cannot be waited for");
  if (state != 0) calls_fail(request->file, strerror(state));
  if (aio_return(&request->aio) < 0) calls_fail(request->file, "an asynchronous transfer failed");
}

void request_complete(struct request* request, int state) {
  if (request->state != (unsigned)state)
    calls_fail("the plan", "a request is waited for that was not begun");
  if (state == REQUEST_AIO)
    complete_aio(request);
  else
    calls_need(MPI_Wait(&request->handle, MPI_STATUS_IGNORE), request->file, "MPI_Wait");
  request->state = REQUEST_FREE;
}
