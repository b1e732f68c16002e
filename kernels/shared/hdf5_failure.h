/* Ends a program of parallel HDF5 after a failure. */
#ifndef IOTUNE_HDF5_FAILURE_H
#define IOTUNE_HDF5_FAILURE_H

/* Prints "program: rank N: file: what: HDF5's reason" on stderr and calls MPI_Abort with status
 * 1, because the other ranks may be waiting in a collective call. */
_Noreturn void hdf5_fail(const char* program, const char* file, const char* what);

#endif
