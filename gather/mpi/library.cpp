// The library's one entry, and the opens of files.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "gather/account.h"
#include "gather/hdf5/calls.h"
#include "gather/mpi/calls.h"
#include "gather/mpi/gathered_file.h"
#include "gather/mpi/interface.h"
#include "gather/process.h"
#include "recorder/hooks/service.h"

namespace iotune::gather {

const GatherHost* g_gather = nullptr;

Budget& own_budget() noexcept {
  static Budget budget(g_gather->budget_bytes());
  return budget;
}

// Registered later than MPI's own handlers, and so called earlier. A child of fork leaves it to its
// parent.
void write_out_at_exit() noexcept {
  static const pid_t process = getpid();
  static const int registered = std::atexit([] {
    if (getpid() == process) write_out_all();
  });
  static_cast<void>(registered);
}

namespace {

// Modes in which a second handle would change what the program sees. nullptr: it may be gathered.
const char* refusal_of_mode(int amode) noexcept {
  const int common = common_amode(g_world.abi, amode);
  if ((common & kModeUniqueOpen) != 0) return "it was opened with MPI_MODE_UNIQUE_OPEN";
  if ((common & kModeAppend) != 0) return "it was opened with MPI_MODE_APPEND";
  if ((common & kModeSequential) != 0) return "it was opened with MPI_MODE_SEQUENTIAL";
  if ((common & kModeDeleteOnClose) != 0) return "it was opened with MPI_MODE_DELETE_ON_CLOSE";
  return nullptr;
}

bool may_write(int amode) noexcept {
  return (common_amode(g_world.abi, amode) & (kModeWriteOnly | kModeReadWrite)) != 0;
}

// While this lives an open that fails returns: its error handler is MPI_FILE_NULL's, which may be
// one of the program's.
class FailingOpensReturn {
 public:
  FailingOpensReturn() noexcept {
    const MpiConstants& mpi = g_world.constants;
    known_ = g_mpi.MPI_File_get_errhandler(mpi.file_null, &handler_) == 0;
    if (known_) g_mpi.MPI_File_set_errhandler(mpi.file_null, mpi.errors_return);
  }
  ~FailingOpensReturn() {
    if (!known_) return;
    g_mpi.MPI_File_set_errhandler(g_world.constants.file_null, handler_);
    g_mpi.MPI_Errhandler_free(&handler_);
  }
  FailingOpensReturn(const FailingOpensReturn&) = delete;
  FailingOpensReturn& operator=(const FailingOpensReturn&) = delete;

 private:
  Word handler_ = 0;
  bool known_ = false;
};

// The same access, and nothing else.
int plain_amode(int amode) noexcept {
  int plain = 0;
  for (int bit = 1; bit <= amode; bit *= 2) {
    const int common = common_amode(g_world.abi, amode & bit);
    if (common == kModeWriteOnly || common == kModeReadWrite) plain |= bit;
  }
  return plain;
}

FileIdentity identity_of(const char* name) noexcept {
  struct stat status {};
  if (stat(Journal::path_of(name), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

constexpr char kByAnotherRank[] = "another rank could not gather it";

// nullptr where this rank can gather the file.
const char* refusal_of(Word handle, const OpenCall& call, const FileIdentity& identity) noexcept {
  if (handle == 0 || handle == g_world.constants.file_null) return "its open failed";
  if (!may_write(call.amode)) return "it was opened for reading alone";
  if (const char* const mode = refusal_of_mode(call.amode)) return mode;
  if (g_gather->needs_answer && !g_gather->has_answer(call.info)) {
    return "it is gathered by a stored answer alone, and there is none";
  }
  if (GatheredFile* const first = find_file(identity)) {
    // What this handle sees is what the first one's rank has written. It holds nothing itself.
    first->write_out();
    return "it is open already, and gathered through its first handle";
  }
  return nullptr;
}

bool keeps_logs() noexcept {
  return std::strcmp(g_gather->mode, "log") == 0;
}

// With all ranks of `comm`: a log for this one, at a place that it shares with the others. nullptr,
// or why there is none.
const char* begin_journal(Word comm, const char* name, std::string& place,
                          std::unique_ptr<Journal>& journal) noexcept {
  int rank = 0;
  const char* refusal = nullptr;
  try {
    place = Journal::place_of(name);
  } catch (const std::bad_alloc&) {
    refusal = "there was no memory";
  }
  if (g_mpi.MPI_Comm_rank(comm, &rank) == 0 && rank == 0 && refusal == nullptr) {
    refusal = Journal::make(place, name);
  }
  if (!all_say(comm, refusal == nullptr)) return refusal != nullptr ? refusal : kByAnotherRank;
  journal = Journal::open(place);
  return journal != nullptr ? nullptr : "the log beside it could not be opened";
}

// With all ranks of `comm`. nullptr where all of them gather it from now on.
const char* gather_with_all(Word comm, Word handle, const OpenCall& call,
                            const FileIdentity& identity, bool logs) noexcept {
  const MpiConstants& mpi = g_world.constants;
  Word second = 0;
  bool good = false;
  std::string place;
  std::unique_ptr<Journal> journal;
  if (logs) {
    const char* const refusal = begin_journal(comm, call.name, place, journal);
    if (!all_say(comm, refusal == nullptr)) return refusal != nullptr ? refusal : kByAnotherRank;
  }
  {
    const FailingOpensReturn quiet;
    good = g_mpi.MPI_File_open(comm, call.name, plain_amode(call.amode), call.info, &second) == 0;
  }
  const char* refusal = good ? nullptr : "it could not be opened a second time";
  std::unique_ptr<GatheredFile> file;
  if (good) {
    g_mpi.MPI_File_set_errhandler(second, mpi.errors_return);
    const bool reads = (common_amode(g_world.abi, call.amode) & kModeReadWrite) != 0;
    try {
      file = std::make_unique<GatheredFile>(
          GatheredFile::Opened{handle, second, comm, identity, call.name, place.c_str(), reads},
          *g_gather, own_budget(), std::move(journal));
    } catch (const std::bad_alloc&) {
      refusal = "there was no memory";
    }
    if (file != nullptr && !add_file(file.get())) {
      refusal = "64 files are gathered already";
      file.reset();
    }
  }
  if (all_say(comm, refusal == nullptr)) {
    file.release();
    return nullptr;
  }
  // A handle that some ranks have and others do not cannot be closed: its close is collective.
  if (file != nullptr) remove_file(file.get());
  file.reset();
  journal.reset();
  if (!place.empty()) Journal::remove(place);
  return refusal != nullptr ? refusal : kByAnotherRank;
}

// Within the program's MPI_File_open, which gave `handle` or failed here: all ranks agree.
// `comm` is this file's own, 0 where it has none.
void gather_file(Word comm, Word handle, const OpenCall& call) noexcept {
  const char* refusal = "one rank alone opened it, or not all ranks of the run gather";
  if (comm != 0) {
    const FileIdentity identity = handle == 0 ? FileIdentity{} : identity_of(call.name);
    refusal = refusal_of(handle, call, identity);
    // Where some ranks keep no logs, none does: to make one is collective.
    const std::int64_t own[2] = {refusal == nullptr ? 1 : 0, keeps_logs() ? 1 : 0};
    std::int64_t all[2] = {};
    if (!reduce(own, all, 2, g_world.constants.op_min, comm) || all[0] == 0) {
      if (refusal == nullptr) refusal = kByAnotherRank;
    } else {
      refusal = gather_with_all(comm, handle, call, identity, all[1] != 0);
    }
  }
  if (refusal == nullptr) {
    write_out_at_exit();
    return;
  }
  if (handle != 0 && may_write(call.amode)) note_refused(g_gather->note, call.name, refusal);
  if (comm != 0) g_mpi.MPI_Comm_free(&comm);
}

}  // namespace

int open_and_gather(OpenFunction* real, const OpenCall& call) noexcept {
  const int result = real(call.comm, call.name, call.amode, call.info, call.handle);
  // Also where it failed here: it may have worked on other ranks.
  const Word own = g_gather->communicator_of_open(call.comm);
  gather_file(own, result == 0 ? *call.handle : 0, call);
  return result;
}

void write_out_all() noexcept {
  each_file([](GatheredFile& file) { file.end(); });
  end_hdf5();
}

namespace {

bool begin(void* given) noexcept {
  auto& host = *static_cast<GatherHost*>(given);
  if (std::strcmp(host.mode, "no") == 0) return false;
  const auto is = [&host](const char* mode) { return std::strcmp(host.mode, mode) == 0; };
  if (!is("memory") && !is("log") && !is("stored")) {
    host.say("IOTUNE_GATHER is none of memory, log, stored, no: no writes are gathered");
    return false;
  }
  g_gather = &host;
  host.use_mpi = [](const GatherMpi* mpi) {
    return g_world.constants.known || find_functions(*mpi);
  };
  host.replacement = in_front_of;
  host.hdf5_replacement = in_front_of_hdf5;
  return true;
}

// Of files that are open still.
void before_trace() noexcept {
  each_file([](GatheredFile& file) { file.note(); });
  for (const auto& file : g_hdf5_files.list) file->note(g_gather->note);
}

constinit recorder::Service g_service = {.begin = begin, .before_trace = before_trace};

}  // namespace
}  // namespace iotune::gather

extern "C" __attribute__((visibility("default"))) iotune::recorder::Service*
iotune_service() noexcept {
  return &iotune::gather::g_service;
}
