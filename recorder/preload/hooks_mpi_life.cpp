#include "recorder/preload/gather_trace.h"
#include "recorder/preload/hooks_mpi.h"
#include "recorder/preload/mpi_api.h"
#include "recorder/preload/presence.h"
#include "recorder/preload/process_buffer.h"
#include "recorder/preload/process_text.h"

namespace iotune::recorder {
namespace {

void before_init(HookState&) noexcept {
  {
    const OwnCode own;
    register_presence();
    g_advice.before_mpi_init();
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
  set_world(rank, size, mpi->version);
  settle_presence(size);
  set_world_provider(&provider);
  set_quiet_rank(rank != 0);
  g_advice.after_mpi_init(provider);
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

void before_MPI_Finalize(Provider& provider, HookState&) noexcept {
  const OwnCode own;
  if (buffer_exists()) {
    // Recorded now, without a duration and as a success: the trace is gathered before the call.
    RecordWriter record(CallNumber::kMPI_Finalize, ticks_now());
    record.number(std::int64_t{0});
    record.commit();
  }
  const MpiApi* const mpi = mpi_api(provider);
  if (mpi == nullptr || world_provider() != &provider || !all_ranks_loaded()) return;
  end_buffer("finalize");
  const char* const trace = gather_trace(*mpi);
  g_advice.before_mpi_finalize(provider, trace);
  remove_presence_files();
}

}  // namespace iotune::recorder
