/* How a program of parallel HDF5 ends where something failed. */
#ifndef IOTUNE_HDF5_FAILURE_H
#define IOTUNE_HDF5_FAILURE_H

/* "program: rank N: file: what: HDF5's reason" on stderr, then MPI_Abort with status 1, because
 * the other ranks may be waiting in a collective call. */
_Noreturn void hdf5_fail(const char* program, const char* file, const char* what);

#endif
