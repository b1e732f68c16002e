// The functions of MPI that gathering calls, of the MPI of this process's world.
#pragma once

#include <cstdint>

#include "gather/mpi/interface.h"

namespace iotune::gather {

struct MpiFunctions {
  int (*MPI_File_open)(Word, const char*, int, Word, Word*);
  int (*MPI_File_close)(Word*);
  int (*MPI_File_set_view)(Word, std::int64_t, Word, Word, const char*, Word);
  int (*MPI_File_set_atomicity)(Word, int);
  int (*MPI_File_get_errhandler)(Word, Word*);
  int (*MPI_File_set_errhandler)(Word, Word);
  int (*MPI_Errhandler_free)(Word*);
  int (*MPI_File_call_errhandler)(Word, int);
  int (*MPI_File_write_at)(Word, std::int64_t, const void*, int, Word, void*);
  int (*MPI_File_write_at_all)(Word, std::int64_t, const void*, int, Word, void*);
  int (*MPI_File_seek)(Word, std::int64_t, int);
  int (*MPI_File_get_position)(Word, std::int64_t*);
  int (*MPI_Type_size)(Word, int*);
  int (*MPI_Type_get_extent)(Word, std::int64_t*, std::int64_t*);
  int (*MPI_Type_get_true_extent)(Word, std::int64_t*, std::int64_t*);
  int (*MPI_Type_create_hvector)(int, int, std::int64_t, Word, Word*);
  int (*MPI_Type_create_hindexed)(int, const int*, const std::int64_t*, Word, Word*);
  int (*MPI_Type_commit)(Word*);
  int (*MPI_Type_free)(Word*);
  int (*MPI_Pack)(const void*, int, Word, void*, int, int*, Word);
  int (*MPI_Unpack)(const void*, int, int*, void*, int, Word, Word);
  int (*MPI_Status_set_elements)(void*, Word, int);
  int (*MPI_Status_set_cancelled)(void*, int);
  int (*MPI_Grequest_start)(int (*)(void*, void*), int (*)(void*), int (*)(void*, int), void*,
                            void*);
  int (*MPI_Grequest_complete)(Word);
  int (*MPI_Error_class)(int, int*);
  int (*MPI_Allreduce)(const void*, void*, int, Word, Word, Word);
  int (*MPI_Comm_rank)(Word, int*);
  int (*MPI_Comm_free)(Word*);
  int (*MPI_Info_free)(Word*);
};

extern MpiFunctions g_mpi;
extern GatherMpi g_world;

// False where one is missing: g_mpi is not to be used then.
bool find_functions(const GatherMpi& mpi) noexcept;

// Whether all ranks of `comm` say yes. Collective.
bool all_say(Word comm, bool own) noexcept;

}  // namespace iotune::gather
