// libiotune-prefetch.so, loaded by the processes that IOTUNE_PREFETCH is set for.
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/abi/mpi_api.h"
#include "core/link/at_start.h"
#include "core/link/real_function.h"
#include "core/os/ticks.h"
#include "core/process/configuration.h"
#include "core/process/thread_state.h"
#include "core/run/launcher_ranks.h"
#include "core/run/presence.h"
#include "core/run/run_identity.h"
#include "prefetch/preload/library_interface.h"
#include "recorder/gather/process_text.h"
#include "recorder/hooks/service.h"
#include "recorder/ring/process_buffer.h"
#include "recorder/ring/record_writer.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"

namespace iotune::prefetch {

namespace {

// Where both are one program, as in tests under sanitizers, there is nothing to load.
extern "C" __attribute__((weak, visibility("hidden"))) recorder::Service* iotune_service() noexcept;

constinit ClockReading g_begin = {};
constinit PrefetchHost g_host = {};
constinit bool g_one_of_several = false;

TickRate tick_rate() noexcept {
  return rate_between(g_begin, read_clocks(), {});
}

void note(const PrefetchNote& said) noexcept {
  if (!recorder::buffer_exists()) return;
  const std::uint64_t mult = tick_rate().mult;
  const auto ns = [mult](std::uint64_t ticks) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(ticks) * mult) >>
                                      TickRate::kShift);
  };
  recorder::RecordWriter record(recorder::CallNumber::kiotune_prefetch, ticks_now());
  record.key(said.file);
  record.number(std::int64_t{said.fd});
  for (const std::uint64_t value :
       {said.reads, said.hits, said.late, said.requested, said.requested_bytes, said.unused_bytes,
        ns(said.wait), ns(said.saved), said.greatest_depth, said.served}) {
    record.number(static_cast<std::int64_t>(value));
  }
  record.text(said.predictor);
  record.commit();
}

int ranks_on_node() noexcept {
  if (world_provider() == nullptr) return g_one_of_several ? -1 : 1;
  return all_ranks_tune() && run_nodes() == 1 ? recorder::world_size() : 0;
}

// After the recorder's and the tuner's constructors.
IOTUNE_START_CODE __attribute__((constructor(65530))) void install() noexcept {
  const Configuration& said = configuration();
  if (said.mode != Mode::kTune || g_recording != kRecorded || said.prefetch == nullptr ||
      std::strcmp(said.prefetch, "none") == 0) {
    return;
  }
  g_begin = read_clocks();
  g_one_of_several = launched_as_one_of_several();
  g_host = {.predictor = said.prefetch,
            .schedule = said.prefetch_schedule,
            .delivery = said.prefetch_delivery,
            .memory_mib = said.prefetch_memory_mib,
            .state_home = said.state_home,
            .say = say,
            .note = note,
            .world_rank = recorder::world_rank,
            .ranks_on_node = ranks_on_node,
            .run_nodes = run_nodes,
            .run_id = run_id,
            .buffer_root = private_buffer_root,
            .ns_per_tick = [] { return tick_rate().mult; },
            .symbol = default_symbol,
            .thread_is_ours = [] { ++t_thread.ours; },
            .file_of_descriptor = recorder::file_of_descriptor,
            .interpose = interpose,
            .enlist = [](AfterFork& entry) { entry.enlist(); },
            .preexecute = nullptr};
  recorder::load_service({"libiotune-prefetch.so", &iotune_service, "nothing is prefetched"},
                         &g_host);
}

}  // namespace
}  // namespace iotune::prefetch

using namespace iotune::prefetch;

// Found by include/iotune.h.
extern "C" __attribute__((visibility("default"))) int iotune_preexecute_slice(
    void (*slice)(void*), void* argument) noexcept {
  if (g_host.preexecute == nullptr) return ENOTSUP;
  const iotune::OwnCode own;
  return g_host.preexecute(slice, argument);
}
