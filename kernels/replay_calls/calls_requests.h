/* Transfers that are begun by one call and completed by another: POSIX aio's
 * and MPI-IO's non-blocking and split ones. A failure ends the run
 * (calls_fail). */
#ifndef IOTUNE_CALLS_REQUESTS_H
#define IOTUNE_CALLS_REQUESTS_H

#include <aio.h>

#include "calls_mpi.h"

struct request {
  enum { REQUEST_FREE, REQUEST_AIO, REQUEST_MPI } state;
  const char* file; /* that it moves to or from */
  MPI_Request handle;
  struct aiocb aio;
  char* buffer; /* of reads: no other transfer may use it meanwhile */
};

/* As many as the plan has, with buffers that its reads fit into. */
struct request* requests_made(const struct call_plan* plan);
void requests_free(struct request* requests, size_t count);

/* `buffer` has what is written. */
void request_begin_aio(struct request* request, int descriptor, const char* file,
                       const struct planned_call* call, char* buffer);
void request_begin_mpi(struct request* request, MPI_File handle, const char* file,
                       const struct planned_call* call, char* buffer);
/* Returns once the transfer is done; `state` says of which kind it must be. */
void request_complete(struct request* request, int state);

#endif
