#include "gather/loader/gather_library.h"

#include <dlfcn.h>

#include <cerrno>
#include <cstring>

#include "core/abi/mpi_api.h"
#include "core/files/process_files.h"
#include "core/link/loader_calls.h"
#include "core/link/real_function.h"
#include "core/os/short_text.h"
#include "core/process/configuration.h"
#include "core/process/thread_state.h"
#include "core/run/launcher_ranks.h"
#include "core/run/presence.h"
#include "gather/mpi/interface.h"

namespace iotune::gather {
namespace {

constinit GatherHost g_host = {};
constinit GatherHooks g_hooks = {};
constinit TunersKnowledge g_tuner = {};

// Beside this library. RTLD_LOCAL: it has nothing for the program.
decltype(&iotune_gather_install) load() noexcept {
  const char* const own = own_library_path();
  const char* const slash = std::strrchr(own, '/');
  ShortText<4096> path;
  if (slash != nullptr) path.add(own, static_cast<std::size_t>(slash - own + 1));
  path << "libiotune-gather.so";
  void* const handle =
      slash == nullptr || path.cut() ? nullptr : loader_open(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const found = handle == nullptr ? nullptr : loader_symbol(handle, "iotune_gather_install");
  if (found == nullptr) {
    ShortText<4608> text;
    text << path.c_str() << " cannot be loaded: no writes are gathered";
    say(text.c_str());
  }
  return reinterpret_cast<decltype(&iotune_gather_install)>(found);
}

void* function_of_world(const char* name) noexcept {
  Provider* const mpi = world_provider();
  return mpi == nullptr ? nullptr : provider_symbol(*mpi, name);
}

Word communicator_of_open(Word comm) noexcept {
  const OwnCode own;
  Provider* const provider = world_provider();
  const MpiApi* const mpi = provider == nullptr ? nullptr : mpi_api(*provider);
  if (mpi == nullptr || !all_ranks_run(JointService::kGather) || !mpi->constants.known) return 0;
  if (((comm ^ mpi->constants.comm_null) & mpi->constants.handle_mask) == 0) return 0;
  int size = 0;
  if (mpi->MPI_Comm_size(comm, &size) != 0 || size < 2 || !is_inside_world(*mpi, comm)) return 0;
  const GatherMpi world{mpi->constants, abi_of(*provider), function_of_world};
  if (!g_hooks.use_mpi(&world)) return 0;
  const Word made = split_quietly(*mpi, comm);
  return made == mpi->constants.comm_null ? 0 : made;
}

// OMPIO writes wrong bytes with several aggregators, and says nothing past a limit of sizes
// (patterndb/settings/proven_table.h).
bool exchanges(const char* name) noexcept {
  const OwnCode own;
  Provider* const provider = world_provider();
  const MpiApi* const mpi = provider == nullptr ? nullptr : mpi_api(*provider);
  if (mpi == nullptr) return false;
  if (std::strncmp(mpi->version, "Open MPI", 8) != 0) return true;
  const char* const io = g_tuner.name_of_io(name);
  return io != nullptr && std::strcmp(io, "OMPIO") != 0;
}

// A twentieth of what is free on the node, or the job may have, for all ranks on it.
std::size_t budget_bytes() noexcept {
  const OwnCode own;
  std::uint64_t bytes = std::uint64_t{1} << 30U;  // where the system does not say
  char text[4096];
  if (read_text("/proc/meminfo", text) > 0) {
    constexpr char kAvailable[] = "MemAvailable:";
    const char* const at = std::strstr(text, kAvailable);
    if (at != nullptr) {
      const char* const number = at + sizeof kAvailable - 1;
      bytes = parse_decimal(number + std::strspn(number, " ")) << 10U;
    }
  }
  const std::uint64_t limit = g_tuner.job_limit_bytes();
  const std::uint64_t ranks = ranks_on_this_node();
  constexpr std::uint64_t kShare = 20;
  return static_cast<std::size_t>((limit < bytes ? limit : bytes) / kShare /
                                  (ranks == 0 ? static_cast<std::uint64_t>(world_ranks()) : ranks));
}

// A library that makes files of a format of its own counts on what MPI does not promise: that a
// barrier alone shows its headers to others (the tests of PnetCDF's and HDF5's own files).
bool is_of_format(const LoadedObject& object) noexcept {
  return symbol_of(object, SymbolName("H5Fopen")) != nullptr ||
         symbol_of(object, SymbolName("ncmpi_open")) != nullptr;
}

void* replace(const char* name, void* real, Provider& mpi, const LoadedObject* caller) noexcept {
  if (&mpi != world_provider() || caller == nullptr || is_of_format(*caller)) return real;
  return g_hooks.replacement(name, real);
}

}  // namespace

void install_gather(const TunersKnowledge& knowledge) noexcept {
  const Configuration& said = configuration();
  if (said.gather == nullptr || said.is_launcher || said.mode == Mode::kOff) return;
  const OwnCode own;
  const int kept = errno;
  g_tuner = knowledge;
  g_host = {.version = kGatherInterfaceVersion,
            .budget_bytes = budget_bytes,
            .say = say,
            .communicator_of_open = communicator_of_open,
            .exchanges = exchanges};
  if (const auto install = load(); install != nullptr && install(&g_host, &g_hooks)) {
    announce_service(JointService::kGather);
    interpose_mpi(replace);
  }
  errno = kept;
}

}  // namespace iotune::gather
