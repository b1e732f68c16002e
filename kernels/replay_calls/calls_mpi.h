/* MPI's part of the replay of calls: types of views and of large transfers.
 * A failure of MPI ends the run (calls_fail). */
#ifndef IOTUNE_CALLS_MPI_H
#define IOTUNE_CALLS_MPI_H

#include <mpi.h>

#include "calls_plan.h"

/* A message on stderr, then MPI_Abort with status 1: the other ranks may be
 * waiting in a collective call. */
_Noreturn void calls_fail(const char* file, const char* what);

/* Fails unless `code` is MPI_SUCCESS. */
void calls_need(int code, const char* file, const char* what);

void calls_set_view(MPI_File handle, const char* file, const struct planned_view* view);

/* A type and a count of it, which fits into an int, for so many bytes. The type is MPI_BYTE or
 * one that the caller frees. */
MPI_Datatype calls_type(const char* file, long long bytes, int* count);

/* One transfer at an offset in elements of the view. */
void calls_mpi_move(MPI_File handle, const char* file, const struct planned_call* call,
                    char* buffer);

/* The end of a split collective transfer. */
void calls_mpi_end(MPI_File handle, const char* file, const struct planned_call* call,
                   char* buffer);

#endif
