// The library's one entry, and the opens of files.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

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

// Modes in which a second handle would change what the program sees, or there is nothing to write.
bool may_gather(int amode) noexcept {
  const int common = common_amode(g_world.abi, amode);
  return (common & (kModeWriteOnly | kModeReadWrite)) != 0 &&
         (common & (kModeUniqueOpen | kModeAppend | kModeSequential | kModeDeleteOnClose)) == 0;
}

// The same access, and nothing else.
int plain_amode(int amode) noexcept {
  int plain = 0;
  for (int bit = 1; bit <= amode; bit *= 2) {
    const int common = common_amode(g_world.abi, amode & bit);
    if (common == kModeWriteOnly || common == kModeReadWrite) plain |= bit;
  }
  return plain;
}

// Of the file that MPI calls `name`, which may begin with the name of a driver: "ufs:/scratch/f".
FileIdentity identity_of(const char* name) noexcept {
  struct stat status {};
  const char* const colon = std::strchr(name, ':');
  if (stat(name, &status) != 0 && (colon == nullptr || stat(colon + 1, &status) != 0)) return {};
  return {status.st_dev, status.st_ino};
}

// Within the program's MPI_File_open, which gave `handle` or failed here: all ranks agree.
// `comm` is this file's own.
void gather_file(Word comm, Word handle, const OpenCall& call) noexcept {
  const MpiConstants& mpi = g_world.constants;
  bool good = handle != 0 && handle != mpi.file_null && may_gather(call.amode);
  const FileIdentity identity = good ? identity_of(call.name) : FileIdentity{};
  if (GatheredFile* const first = find_file(identity)) {
    // What this handle sees is what the first one's rank has written. It holds nothing itself.
    first->write_out();
    good = false;
  }
  Word second = 0;
  if (all_say(comm, good)) {
    good = g_mpi.MPI_File_open(comm, call.name, plain_amode(call.amode), call.info, &second) == 0;
    std::unique_ptr<GatheredFile> file;
    if (good) {
      g_mpi.MPI_File_set_errhandler(second, mpi.errors_return);
      file.reset(new (std::nothrow) GatheredFile(handle, second, comm, identity,
                                                 g_gather->exchanges(call.name), own_budget()));
      good = file != nullptr && add_file(file.get());
    }
    if (all_say(comm, good)) {
      file.release();
      write_out_at_exit();
      return;
    }
    // A handle that some ranks have and others do not cannot be closed: its close is collective.
    if (good) remove_file(file.get());
  }
  g_mpi.MPI_Comm_free(&comm);
}

}  // namespace

int open_and_gather(OpenFunction* real, const OpenCall& call) noexcept {
  const int result = real(call.comm, call.name, call.amode, call.info, call.handle);
  // Also where it failed here: it may have worked on other ranks.
  const Word own = g_gather->communicator_of_open(call.comm);
  if (own != 0) gather_file(own, result == 0 ? *call.handle : 0, call);
  return result;
}

void write_out_all() noexcept {
  each_file([](GatheredFile& file) { file.write_out(); });
  end_hdf5();
}

namespace {

bool begin(void* given) noexcept {
  auto& host = *static_cast<GatherHost*>(given);
  if (std::strcmp(host.mode, "memory") != 0) {
    host.say("IOTUNE_GATHER is neither memory nor unset: no writes are gathered");
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

constinit recorder::Service g_service = {.begin = begin};

}  // namespace
}  // namespace iotune::gather

extern "C" __attribute__((visibility("default"))) iotune::recorder::Service*
iotune_service() noexcept {
  return &iotune::gather::g_service;
}
