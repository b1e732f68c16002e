#include <cstdlib>

#include "core/abi/mpi_api.h"
#include "core/process/configuration.h"
#include "core/run/presence.h"
#include "core/run/run_identity.h"
#include "recorder/gather/gather_trace.h"
#include "recorder/gather/kept_traces.h"
#include "recorder/gather/process_text.h"
#include "recorder/hooks/decisions.h"
#include "recorder/hooks/service.h"
#include "recorder/ring/process_buffer.h"
#include "recorder/wrappers/mpi/hooks_mpi.h"
#include "recorder/wrappers/posix/path_call.h"

namespace iotune::recorder {
namespace {

// By this rank, at MPI_Finalize.
constinit const char* g_written_trace = nullptr;

void before_init(HookState&) noexcept {
  {
    const OwnCode own;
    join_run_of_launcher();
    register_presence();
    tell_services<&Service::before_mpi_init>();
  }
  // MPI's own start makes a hundred and fifty POSIX calls that say nothing of the program.
  ++t_thread.ours;
}

void after_init(Provider& provider, int result) noexcept {
  --t_thread.ours;
  if (result != 0) return;
  const OwnCode own;
  const MpiApi* const mpi = mpi_api(provider);
  if (mpi == nullptr) return;
  if (!mpi->constants.known) {
    static constinit bool said = false;
    ShortText<256> text;
    text << mpi->version
         << ": this MPI's predefined handles cannot be found; its calls are recorded, "
         << "nothing is tuned, and the next iotune command joins the ranks' traces";
    if (configuration().verbose) say_once(said, text.c_str());
    return;
  }
  int rank = 0, size = 1;
  mpi->MPI_Comm_rank(mpi->constants.comm_world, &rank);
  mpi->MPI_Comm_size(mpi->constants.comm_world, &size);
  set_world_provider(&provider);
  set_world(rank, size, mpi->version, nullptr);
  settle_presence(size);
  set_quiet_rank(rank != 0);
  tell_services<&Service::after_mpi_init>(provider);
  // A rank that opens no file may be between two others in the order of theirs.
  if (g_records_order) start_buffer();
}

int environment_number(const char* name, int otherwise) noexcept {
  const char* const text = name == nullptr ? nullptr : std::getenv(name);
  const bool digits = text != nullptr && *text >= '0' && *text <= '9';
  return digits ? static_cast<int>(parse_decimal(text)) : otherwise;
}

// A rank without a world is known by what its launcher calls it.
void take_rank_from_launcher(const MpiApi& mpi) noexcept {
  static constexpr const char* kNames[][2] = {{"PMI_RANK", "PMI_SIZE"},
                                              {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                              {"PMIX_RANK", nullptr},
                                              {"SLURM_PROCID", "SLURM_NTASKS"}};
  for (const auto& [rank_name, size_name] : kNames) {
    const int rank = environment_number(rank_name, -1);
    if (rank < 0) continue;
    set_world(rank, environment_number(size_name, 0), mpi.version, rank_name);
    set_quiet_rank(rank != 0);
    return;
  }
  set_world(-1, 0, mpi.version, nullptr);
}

}  // namespace

void before_MPI_Init(Provider&, HookState& hook, void*&, void*&) noexcept {
  before_init(hook);
}
void after_MPI_Init(Provider& provider, HookState&, int result, void*, void*) noexcept {
  after_init(provider, result);
}
void before_MPI_Init_thread(Provider&, HookState& hook, void*&, void*&, int&, void*&) noexcept {
  before_init(hook);
}
void after_MPI_Init_thread(Provider& provider, HookState&, int result, void*, void*, int,
                           void*) noexcept {
  after_init(provider, result);
}

// Sessions have no world that could agree: their ranks are recorded and never tuned, and the
// next iotune command joins their buffers. They take no part in register_presence: a program that
// calls MPI_Init as well is counted there.
void before_MPI_Session_init(Provider&, HookState&, Word&, Word&, void*&) noexcept {
  ++t_thread.ours;
}
void after_MPI_Session_init(Provider& provider, HookState&, int result, Word, Word,
                            void*) noexcept {
  --t_thread.ours;
  if (result != 0 || world_provider() != nullptr) return;
  const OwnCode own;
  if (const MpiApi* const mpi = mpi_api(provider)) take_rank_from_launcher(*mpi);
}

void before_MPI_Finalize(Provider& provider, HookState&) noexcept {
  const OwnCode own;
  pass_over_the_end_of_mpi();
  if (buffer_exists()) {
    // Recorded now, without a duration and as a success: the trace is gathered before the call.
    RecordWriter record(CallNumber::kMPI_Finalize, ticks_now());
    record.number(std::int64_t{0});
    record.commit();
  }
  const MpiApi* const mpi = mpi_api(provider);
  if (mpi == nullptr || world_provider() != &provider || !all_ranks_loaded()) return;
  tell_services<&Service::before_trace>();
  end_buffer("finalize");
  g_written_trace = gather_trace(*mpi);
  tell_services<&Service::before_mpi_finalize>(provider);
  remove_presence_files();
}

// The other ranks have gone.
void after_MPI_Finalize(Provider&, HookState&, int) noexcept {
  const OwnCode own;
  const char* const trace = __atomic_exchange_n(&g_written_trace, nullptr, __ATOMIC_RELAXED);
  if (trace != nullptr) {
    tell_services<&Service::run_ended>(trace);
    if (configuration().trace_path == nullptr) bound_traces(trace);
  }
  tell_services<&Service::process_ends>();
}

}  // namespace iotune::recorder
