/* Ends a program of several ranks after a failure. */
#ifndef IOTUNE_RUN_FAILURE_H
#define IOTUNE_RUN_FAILURE_H

/* Prints "program: rank N: file: what" on stderr and calls MPI_Abort with status 1, because the
 * other ranks may be waiting in a collective call. */
_Noreturn void run_fail(const char* program, const char* file, const char* what);

/* Likewise, with MPI's reason, unless `code` is MPI_SUCCESS. */
void run_need(const char* program, int code, const char* file, const char* what);

#endif
