// What the MPI wrappers do beside calling and recording. Attributes of calls.table name them.
#pragma once

#include "recorder/preload/record_writer.h"
#include "recorder/preload/wrapper_parts.h"

namespace iotune::recorder {

// --- the run's life (hooks_mpi_life.cpp)
void before_MPI_Init(Provider&, HookState&, void*& argc, void*& argv) noexcept;
void after_MPI_Init(Provider&, HookState&, int result, void* argc, void* argv) noexcept;
void before_MPI_Init_thread(Provider&, HookState&, void*& argc, void*& argv, int& required,
                            void*& provided) noexcept;
void after_MPI_Init_thread(Provider&, HookState&, int result, void* argc, void* argv, int required,
                           void* provided) noexcept;
void before_MPI_Finalize(Provider&, HookState&) noexcept;

// --- files (hooks_mpi_files.cpp)
void before_MPI_File_open(Provider&, HookState&, Word& comm, const char*& name, int& amode,
                          Word& info, Word*& file) noexcept;
void after_MPI_File_open(Provider&, HookState&, int result, Word comm, const char* name, int amode,
                         Word info, Word* file) noexcept;

// Bytes of one element of `type`, appended after the result; -1 after a failed call: asking of
// a type that is none would abort the program.
void append_type_bytes(Provider&, RecordWriter&, int result, Word type) noexcept;

#define IOTUNE_AT_EXTRAS(name)                                                                   \
  inline void extras_##name(Provider& mpi, RecordWriter& record, int result, Word, std::int64_t, \
                            void*, int, Word type, void*) noexcept {                             \
    append_type_bytes(mpi, record, result, type);                                                \
  }
#define IOTUNE_PLAIN_EXTRAS(name)                                                              \
  inline void extras_##name(Provider& mpi, RecordWriter& record, int result, Word, void*, int, \
                            Word type, void*) noexcept {                                       \
    append_type_bytes(mpi, record, result, type);                                              \
  }
IOTUNE_AT_EXTRAS(MPI_File_read_at)
IOTUNE_AT_EXTRAS(MPI_File_read_at_all)
IOTUNE_AT_EXTRAS(MPI_File_write_at)
IOTUNE_AT_EXTRAS(MPI_File_write_at_all)
IOTUNE_AT_EXTRAS(MPI_File_iread_at)
IOTUNE_AT_EXTRAS(MPI_File_iwrite_at)
IOTUNE_PLAIN_EXTRAS(MPI_File_read)
IOTUNE_PLAIN_EXTRAS(MPI_File_read_all)
IOTUNE_PLAIN_EXTRAS(MPI_File_write)
IOTUNE_PLAIN_EXTRAS(MPI_File_write_all)
IOTUNE_PLAIN_EXTRAS(MPI_File_iread)
IOTUNE_PLAIN_EXTRAS(MPI_File_iwrite)
IOTUNE_PLAIN_EXTRAS(MPI_File_read_shared)
IOTUNE_PLAIN_EXTRAS(MPI_File_write_shared)
IOTUNE_PLAIN_EXTRAS(MPI_File_read_ordered)
IOTUNE_PLAIN_EXTRAS(MPI_File_write_ordered)
#undef IOTUNE_AT_EXTRAS
#undef IOTUNE_PLAIN_EXTRAS

}  // namespace iotune::recorder
