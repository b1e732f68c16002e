/* MPI for programs of one process: what the replayer and the prover of HDF5
 * call of it, so that they run where there is no MPI. */
#ifndef IOTUNE_SERIAL_MPI_H
#define IOTUNE_SERIAL_MPI_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int MPI_Comm;
typedef int MPI_Info;
typedef int MPI_Op;
typedef size_t MPI_Datatype; /* bytes of an element */
typedef int MPI_T_cvar_handle;

enum { MPI_SUCCESS, MPI_ERR_OTHER };
enum { MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, MPI_INFO_NULL, MPI_THREAD_SINGLE };
enum { MPI_MIN, MPI_MAX, MPI_SUM };
enum { MPI_MAX_ERROR_STRING = 64 };
#define MPI_CHAR sizeof(char)
#define MPI_INT sizeof(int)
#define MPI_LONG sizeof(long)
#define MPI_LONG_LONG sizeof(long long)
#define MPI_UINT64_T 8
#define MPI_DOUBLE sizeof(double)

/* Collective calls of one rank give back what they got. */
#define MPI_Allreduce(from, to, count, type, op, comm) \
  ((void)(op), (void)(comm), (void)memcpy((to), (from), (size_t)(count) * (type)))
#define MPI_Reduce(from, to, count, type, op, root, comm) \
  MPI_Allreduce(from, to, count, type, op, comm)
#define MPI_Bcast(buffer, count, type, root, comm) ((void)(buffer))
#define MPI_Barrier(comm) ((void)(comm))

#define MPI_Init(argc, argv) ((void)(argc), (void)(argv))
#define MPI_Finalize() ((void)0)
#define MPI_Abort(comm, status) _Exit(status)
#define MPI_Comm_rank(comm, rank) ((void)(*(rank) = 0))
#define MPI_Comm_size(comm, size) ((void)(*(size) = 1))
#define MPI_Comm_split_type(comm, type, key, info, out) ((void)(*(out) = (comm)), (void)(key))
#define MPI_Comm_free(comm) ((void)(comm))
#define MPI_Error_string(code, text, length) ((void)(code), (void)((text)[*(length)] = '\0'))

/* Hints are MPI-IO's. */
#define MPI_Info_create(info) ((void)(*(info) = MPI_INFO_NULL))
#define MPI_Info_set(info, name, value) ((void)(info), (void)(name), (void)(value))
#define MPI_T_init_thread(wanted, provided) ((void)(provided), MPI_ERR_OTHER)
#define MPI_T_cvar_get_index(name, index) ((void)(index), MPI_ERR_OTHER)
#define MPI_T_cvar_handle_alloc(index, object, handle, count) \
  ((void)(handle), (void)(count), MPI_ERR_OTHER)
#define MPI_T_cvar_read(handle, value) ((void)(handle), (void)(value))
#define MPI_T_cvar_handle_free(handle) ((void)(handle))
#define MPI_T_finalize() ((void)0)

static inline double MPI_Wtime(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
