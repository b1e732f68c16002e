// The functions of an MPI that iotune itself calls, with handles as machine words.
#pragma once

#include "core/abi/mpi_abi.h"

namespace iotune {

struct MpiApi {
  MpiConstants constants;
  MpiAbi abi;
  char version[64];  // "MPICH 4.0.2"

  int (*MPI_Comm_rank)(Word, int*);
  int (*MPI_Comm_size)(Word, int*);
  int (*MPI_Comm_split)(Word, int, int, Word*);
  int (*MPI_Comm_free)(Word*);
  int (*MPI_Comm_test_inter)(Word, int*);
  int (*MPI_Comm_set_errhandler)(Word, Word);
  int (*MPI_Comm_get_errhandler)(Word, Word*);
  int (*MPI_Errhandler_free)(Word*);
  int (*MPI_Comm_create_keyval)(int (*)(Word, int, void*, void*, void*, int*),
                                int (*)(Word, int, void*, void*), int*, void*);
  int (*MPI_Comm_get_attr)(Word, int, void*, int*);
  int (*MPI_Query_thread)(int*);
  int (*MPI_Comm_set_attr)(Word, int, void*);
  int (*MPI_Comm_delete_attr)(Word, int);
  int (*MPI_Comm_group)(Word, Word*);
  int (*MPI_Group_translate_ranks)(Word, int, const int*, Word, int*);
  int (*MPI_Group_free)(Word*);
  int (*MPI_Bcast)(void*, int, Word, int, Word);
  int (*MPI_Allreduce)(const void*, void*, int, Word, Word, Word);
  int (*MPI_Gather)(const void*, int, Word, void*, int, Word, int, Word);
  int (*MPI_Send)(const void*, int, Word, int, int, Word);
  int (*MPI_Recv)(void*, int, Word, int, int, Word, void*);
  int (*MPI_Type_size)(Word, int*);
  int (*MPI_Info_create)(Word*);
  int (*MPI_Info_dup)(Word, Word*);
  int (*MPI_Info_set)(Word, const char*, const char*);
  int (*MPI_Info_get)(Word, const char*, int, char*, int*);          // nullptr, or the next is
  int (*MPI_Info_get_string)(Word, const char*, int*, char*, int*);  // of MPI 4
  int (*MPI_Info_free)(Word*);
  int (*MPI_File_get_info)(Word, Word*);
  int (*MPI_File_set_info)(Word, Word);
  int (*MPI_File_close)(Word*);
  int (*MPI_File_get_errhandler)(Word, Word*);
  int (*MPI_File_set_errhandler)(Word, Word);
  int (*MPI_Error_string)(int, char*, int*);
  // For views alone: may be missing.
  int (*MPI_Type_size_x)(Word, std::int64_t*);
  int (*MPI_Type_get_extent)(Word, std::int64_t*, std::int64_t*);
  int (*MPI_Type_get_true_extent)(Word, std::int64_t*, std::int64_t*);
  int (*MPI_Type_get_envelope)(Word, int*, int*, int*, int*);
  int (*MPI_Type_get_envelope_c)(Word, std::int64_t*, std::int64_t*, std::int64_t*, std::int64_t*,
                                 int*);  // of MPI 4
  int (*MPI_Type_get_contents)(Word, int, int, int, int*, std::int64_t*, void*);
  int (*MPI_Type_get_contents_c)(Word, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                                 int*, std::int64_t*, std::int64_t*, void*);
  int (*MPI_Type_free)(Word*);
  // What an Open MPI's MPI-IO is: may be missing.
  int (*MPI_T_init_thread)(int, int*);
  int (*MPI_T_cvar_get_index)(const char*, int*);
  int (*MPI_T_cvar_handle_alloc)(int, void*, void**, int*);
  int (*MPI_T_cvar_read)(void*, void*);
  int (*MPI_T_cvar_handle_free)(void**);
  int (*MPI_T_finalize)();
  int (*MPI_Get_library_version)(char*, int*);
  int (*MPI_Initialized)(int*);
  int (*MPI_Finalized)(int*);
  // Of files opened for appending, and of the representation external32: may be missing.
  int (*MPI_File_get_position)(Word, std::int64_t*);
  int (*MPI_Pack_external)(const char*, const void*, int, Word, void*, std::int64_t,
                           std::int64_t*);
  // Of receives that the program cancels: may be missing.
  int (*MPI_Test_cancelled)(const void*, int*);
};

// MPI_Comm_split of one of the program's communicators with color 0 and this rank as key. An
// error is returned (comm_null) and never met by the program's error handler, which would
// abort it; the new communicator returns errors, too.
Word split_quietly(const MpiApi& mpi, Word comm) noexcept;

// Does every member belong to this rank's world? Others may not be loaded, and are not counted.
bool is_inside_world(const MpiApi& mpi, Word comm) noexcept;

// The value of `key`, cut to `bytes` with its NUL. False where `info` has no such key. Local.
bool read_info(const MpiApi& mpi, Word info, const char* key, char* value, int bytes) noexcept;

// nullptr where a function is missing.
const MpiApi* mpi_api(Provider& mpi) noexcept;

// Needs none of its functions.
MpiAbi abi_of(Provider& mpi) noexcept;

// The handle that the program's pointer points to, in the size that the ABI gives handles other
// than MPI_File's; 0 for NULL.
Word handle_at(Provider& mpi, const void* handle) noexcept;

// The provider whose MPI_Init this process called; nullptr before.
Provider* world_provider() noexcept;
void set_world_provider(Provider* mpi) noexcept;

// A receive status, larger than any ABI's.
struct StatusSpace {
  alignas(8) char bytes[64];
};

}  // namespace iotune
