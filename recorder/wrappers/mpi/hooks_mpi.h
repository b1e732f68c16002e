// What the MPI wrappers do beside calling and recording. Attributes of calls.table name them.
#pragma once

#include "core/abi/mpi_api.h"
#include "core/abi/mpi_file_mark.h"
#include "recorder/hooks/service.h"
#include "recorder/ring/record_writer.h"
#include "recorder/wrappers/wrapper_parts.h"

namespace iotune::recorder {

// --- the run's life (hooks_mpi_life.cpp)
void before_MPI_Init(Provider&, HookState&, void*& argc, void*& argv) noexcept;
void after_MPI_Init(Provider&, HookState&, int result, void* argc, void* argv) noexcept;
void before_MPI_Init_thread(Provider&, HookState&, void*& argc, void*& argv, int& required,
                            void*& provided) noexcept;
void after_MPI_Init_thread(Provider&, HookState&, int result, void* argc, void* argv, int required,
                           void* provided) noexcept;
void before_MPI_Finalize(Provider&, HookState&) noexcept;
void after_MPI_Finalize(Provider& provider, HookState& hook, int result) noexcept;
void before_MPI_Session_init(Provider&, HookState&, Word& info, Word& errhandler,
                             void*& session) noexcept;
void after_MPI_Session_init(Provider&, HookState&, int result, Word info, Word errhandler,
                            void* session) noexcept;

// --- files (hooks_mpi_files.cpp)
// For the mark of an open: 0 where nobody wants to know, or where it is not known.
int ranks_of_open(Provider* mpi, Word comm) noexcept;
// For as long as the wrapper is in its call, whatever else it does (recorder/hooks/service.h).
class JointOpen {
 public:
  JointOpen(Provider* mpi, Word comm, const Word* file) noexcept;
  ~JointOpen();
  JointOpen(const JointOpen&) = delete;
  JointOpen& operator=(const JointOpen&) = delete;

 private:
  Provider* mpi_;  // nullptr: another one is around this call
  Word comm_;
  const Word* file_;
};
class JointClose {
 public:
  JointClose(Provider* mpi, const Word* file) noexcept;
  ~JointClose();
  JointClose(const JointClose&) = delete;
  JointClose& operator=(const JointClose&) = delete;

 private:
  Provider* mpi_;  // nullptr: there is nothing to do
  const Service* service_ = nullptr;
  void* kept_ = nullptr;
};
void before_MPI_File_open(Provider&, HookState&, Word& comm, const char*& name, int& amode,
                          Word& info, Word*& file) noexcept;
bool again_MPI_File_open(Provider&, HookState&, int result, Word& comm, const char*& name,
                         int& amode, Word& info, Word*& file) noexcept;
void after_MPI_File_open(Provider&, HookState&, int result, Word comm, const char* name, int amode,
                         Word info, Word* file) noexcept;

// Where the file pointer stands after a call that moves it to the file's end; -1 after others.
void extras_MPI_File_open(Provider&, HookState&, RecordWriter&, int result, Word comm,
                          const char* name, int amode, Word info, Word* file) noexcept;
void extras_MPI_File_seek(Provider&, RecordWriter&, int result, Word file, std::int64_t offset,
                          int whence) noexcept;

// Before a collective call by the shared pointer.
void prepare_ordered(Provider&, Word file) noexcept;

void after_MPI_File_set_view(Provider&, int result, Word file, std::int64_t displacement,
                             Word etype, Word filetype, const char* datarep, Word info) noexcept;

// Bytes of one element of `type` in the file, appended after the result; -1 after a failed call:
// asking of a type that is none would abort the program.
void append_type_bytes(Provider&, RecordWriter&, int result, Word file, Word type) noexcept;

// Whether the file's view is in the representation external32, whose elements have sizes of their
// own.
void note_representation(Word file, bool external32) noexcept;

}  // namespace iotune::recorder
