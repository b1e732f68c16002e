// libiotune-gather.so, loaded by the processes that IOTUNE_GATHER is set for, or the site's
// `gather`.
#include <cstring>

#include "core/abi/hdf5_api.h"
#include "core/abi/mpi_api.h"
#include "core/files/process_files.h"
#include "core/link/at_start.h"
#include "core/link/real_function.h"
#include "core/os/short_text.h"
#include "core/process/configuration.h"
#include "core/process/thread_state.h"
#include "core/run/joint_opens.h"
#include "core/run/launcher_ranks.h"
#include "core/run/presence.h"
#include "gather/loader/host_calls.h"
#include "gather/mpi/interface.h"
#include "recorder/hooks/decisions.h"
#include "recorder/hooks/service.h"
#include "recorder/wrappers/hdf5/hooks_hdf5.h"

namespace iotune::gather {
namespace {

constinit GatherHost g_host = {};

void* function_of_world(const char* name) noexcept {
  Provider* const mpi = world_provider();
  return mpi == nullptr ? nullptr : provider_symbol(*mpi, name);
}

Word communicator_of_open(Word comm) noexcept {
  const OwnCode own;
  Provider* const provider = world_provider();
  const MpiApi* const mpi = provider == nullptr ? nullptr : mpi_api(*provider);
  if (mpi == nullptr) return 0;
  const GatherMpi world{mpi->constants, abi_of(*provider), function_of_world};
  return g_host.use_mpi(&world) ? iotune::communicator_of_open(*mpi, comm, JointService::kGather)
                                : 0;
}

// OMPIO writes wrong bytes with several aggregators, and says nothing past a limit of sizes
// (patterndb/settings/proven_table.h).
bool exchanges(const char* name) noexcept {
  const OwnCode own;
  Provider* const provider = world_provider();
  const MpiApi* const mpi = provider == nullptr ? nullptr : mpi_api(*provider);
  if (mpi == nullptr) return false;
  if (std::strncmp(mpi->version, "Open MPI", 8) != 0) return true;
  const char* const io = recorder::g_decisions.mpiio.name_of_io(name);
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
  const std::uint64_t limit = recorder::g_decisions.job_limit_bytes();
  std::uint64_t ranks = ranks_on_this_node();
  if (ranks == 0) ranks = static_cast<std::uint64_t>(world_ranks());
  if (ranks == 0) ranks = 1;  // no MPI
  constexpr std::uint64_t kShare = 20;
  return static_cast<std::size_t>((limit < bytes ? limit : bytes) / kShare / ranks);
}

// A library that makes files of a format of its own counts on what MPI does not promise: that a
// barrier alone shows its headers to others.
bool is_of_format(const LoadedObject& object) noexcept {
  const auto defines = [&](const char* name) {
    const void* const found = symbol_of(object, SymbolName(name));  // or in what it needs
    return found != nullptr && object_at(found) == &object;
  };
  return defines("H5Fopen") || defines("ncmpi_open");
}

void* replace(const char* name, void* real, Provider& mpi, const LoadedObject* caller) noexcept {
  if (&mpi != world_provider() || caller == nullptr || is_of_format(*caller)) return real;
  return g_host.replacement(name, real);
}

void* replace_hdf5(const char* name, void* real, Provider& hdf5, const LoadedObject*) noexcept {
  return g_host.hdf5_replacement(name, real, hdf5);
}

// After the recorder's and the tuner's constructors.
IOTUNE_START_CODE __attribute__((constructor(65530))) void install() noexcept {
  const Configuration& said = configuration();
  if (said.gather == nullptr || said.is_launcher || said.mode != Mode::kTune) return;
  const bool stored_alone = std::strcmp(said.gather, "stored") == 0;
  if (stored_alone && !launched_as_one_of_several()) return;  // answers are for MPI-IO
  g_host = {.mode = said.gather,
            .needs_answer = said.frozen || stored_alone,
            .say = say,
            .note = write_note,
            .budget_bytes = budget_bytes,
            .communicator_of_open = communicator_of_open,
            .exchanges = exchanges,
            .joins_rightly = joins_rightly,
            .is_predefined = is_predefined_type,
            .loops_of = loops_of_type,
            .has_answer = has_stored_answer,
            .number_of = [](const Provider& hdf5) noexcept { return int{hdf5.number}; },
            .hdf5_function = [](Provider& hdf5,
                                const char* name) noexcept { return provider_symbol(hdf5, name); },
            .transfer_class =
                [](Provider& hdf5) noexcept {
                  const OwnCode own;
                  return list_class(hdf5, ListClass::kTransfer);
                },
            .has_other_connector = recorder::has_other_connector,
            .use_mpi = nullptr,
            .replacement = nullptr,
            .hdf5_replacement = nullptr};
  if (!recorder::load_service({"libiotune-gather.so", nullptr, "no writes are gathered"},
                              &g_host)) {
    return;
  }
  announce_service(JointService::kGather);
  interpose(Interface::kMpi, replace);
  interpose(Interface::kHdf5, replace_hdf5);
}

}  // namespace
}  // namespace iotune::gather
