// Fills the recorder's table of decisions: the one place where recorder and tuner are put together.
#include "core/link/at_start.h"
#include "core/link/real_function.h"
#include "core/process/configuration.h"
#include "recorder/gather/process_text.h"
#include "recorder/hooks/decisions.h"
#include "recorder/hooks/service.h"
#include "tuner/decision/agreement.h"
#include "tuner/decision/applied_log.h"
#include "tuner/decision/database_library.h"
#include "tuner/decision/file_plan.h"
#include "tuner/decision/file_timer.h"
#include "tuner/decision/job_memory.h"
#include "tuner/decision/outcome_notes.h"
#include "tuner/decision/program_settings.h"
#include "tuner/decision/run_end.h"
#include "tuner/hdf5/hdf5_dataset.h"
#include "tuner/hdf5/hdf5_open.h"
#include "tuner/mpiio/mpiio_open.h"
#include "tuner/mpiio/openmpi_io.h"
#include "tuner/mpiio/ordered_calls.h"
#include "tuner/posix/made_file.h"
#include "tuner/posix/placement.h"
#include "tuner/posix/posix_advice.h"
#include "tuner/posix/program_open.h"

namespace iotune::tuner {
namespace {

void before_finalize(Provider& provider) noexcept {
  const MpiApi* const mpi = mpi_api(provider);
  if (mpi != nullptr) free_world_communicator(*mpi);
}

void after_init(Provider& provider) noexcept {
  const MpiApi* const mpi = mpi_api(provider);
  if (mpi == nullptr || !mpi->constants.known) return;
  // Rank 0 asks for all. The first ranks of other communicators load it when they ask.
  if (!is_quiet_rank()) load_database();
  make_keyval(*mpi);
  learn_program_answers(*mpi);
}

// Small serial programs that merely touched a file teach nothing.
void run_ended(const char* trace) noexcept {
  const bool parallel = world_provider() != nullptr;
  if (parallel || recorder::hdf5_version()[0] != '\0') learn_at_run_end(trace);
}

void follow_property(Provider& hdf5, recorder::CallNumber call, const std::int64_t* words,
                     int count) noexcept {
  if (call == recorder::CallNumber::kH5Fclose) {
    // An id may have had more references than this one (H5Iget_file_id, H5Iinc_ref): on one
    // rank only, perhaps.
    if (is_open_file(hdf5, words[0])) return;
    stop_file_timer(hdf5, words[0]);
    forget_file_plan(hdf5, words[0]);
  }
  follow_property_call(hdf5, call, words, count);
}

// Of the run's life the tuner hears as services do.
IOTUNE_START_DATA constinit recorder::Service g_life = {.before_mpi_finalize = before_finalize,
                                                        .run_ended = run_ended};

IOTUNE_START_CODE void fill_decisions() noexcept {
  recorder::g_decisions = {
      .files = {.before_create =
                    [](const char* path, int flags) {
                      watch_before_create(path, flags);
                      return before_create(path, flags);
                    },
                .after_create =
                    [](int fd) {
                      watch_after_create(fd);
                      after_create(fd);
                    },
                .after_open = after_open,
                .before_program_open = before_program_open,
                .after_program_open = after_program_open},
      .hdf5 = {.before_open = before_hdf5_open,
               .again_open = again_hdf5_open,
               .after_open = after_hdf5_open,
               .before_dataset = before_hdf5_dataset,
               .again_dataset = again_hdf5_dataset,
               .after_dataset = after_hdf5_dataset,
               .before_transfer = before_hdf5_transfer,
               .after_transfer = after_hdf5_transfer,
               .leaves_datasets_alone = leaves_datasets_alone,
               .property = follow_property,
               .fapl_mpio = follow_fapl_mpio},
      .mpiio = {.before_open = before_mpiio_open,
                .again_open = again_mpiio_open,
                .after_open = after_mpiio_open,
                .before_ordered = before_ordered,
                .name_of_io = name_of_openmpi_io},
      .own_outcomes = own_outcomes,
      .room_for_outcomes = room_for_outcomes,
      .take_outcomes = take_outcomes,
      .job_limit_bytes = job_limit_bytes,
  };
}

// A program with HDF5 that is no rank, or rank 0: it asks at its first file. One that loads its
// HDF5 later does not show.
IOTUNE_START_CODE bool asks_as_it_is() noexcept {
  return !configuration().is_launcher && !is_quiet_rank() && next_definition("H5open") != nullptr;
}

// After recorder's constructor, which reads the configuration.
IOTUNE_START_CODE __attribute__((constructor(65500))) void install() noexcept {
  const Mode mode = configuration().mode;
  if (mode == Mode::kOff) return;
  recorder::enlist(g_life);
  if (mode != Mode::kTune) return;
  g_life.after_mpi_init = after_init;
  g_life.process_ends = write_applied_log;
  fill_decisions();
  if (asks_as_it_is()) load_database();
}

}  // namespace
}  // namespace iotune::tuner
