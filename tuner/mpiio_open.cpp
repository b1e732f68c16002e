#include "tuner/mpiio_open.h"

#include "recorder/preload/narrowing.h"
#include "recorder/preload/presence.h"
#include "tuner/agreement.h"
#include "tuner/mpiio_hints.h"
#include "tuner/outcome_notes.h"
#include "tuner/posix_opens.h"
#include "tuner/spare_block.h"

namespace iotune::tuner {
namespace {

using recorder::MpiApi;
using recorder::OpenState;
using recorder::Provider;
using recorder::Word;

struct OpenInProgress {
  Decision decision;
  HintPlan hints;
  PosixOpens opens;
  Word tuned_info;
  bool notes;
};

constinit SpareBlock<OpenInProgress> g_spare;

}  // namespace

void before_mpiio_open(Provider& provider, Word comm, const char* path, int amode, Word& info,
                       OpenState& state) noexcept {
  const MpiApi* const mpi = recorder::mpi_api(provider);
  if (mpi == nullptr || recorder::world_provider() != &provider) return;
  const Word own = private_communicator(*mpi, comm);
  if (own == mpi->constants.comm_null) return;
  OpenInProgress* const open = recorder::is_narrowed() ? nullptr : g_spare.take();
  if (open == nullptr) {
    decline(*mpi, own);
    return;
  }
  const bool creating = (recorder::common_amode(mpi->abi, amode) & recorder::kModeCreate) != 0;
  if (!receive_decision(*mpi, own, {path, "mpiio", creating, 0, 1, nullptr}, open->decision)) {
    g_spare.give_back(open);
    return;
  }
  clear(open->hints);
  open->tuned_info = 0;
  clear(open->opens);
  state.words[0] = reinterpret_cast<std::uint64_t>(open);
  open->notes = rank_in(*mpi, own) == 0 && open->decision.source[0] != '\0';
  if (open->decision.count == 0) return;  // nothing to vote on, nothing planned
  plan_hints(*mpi, path, info, open->decision, recorder::run_nodes(), open->hints);
  for (int i = 0; i < open->decision.count; ++i) {
    if (!is_beneath_hdf5(open->decision.settings[i].name)) {
      open->hints.refused[i] = "the file is not opened through HDF5";
    }
  }
  if (open->hints.wanted.count > 0) open->tuned_info = make_info(*mpi, info, open->hints);
  arm(path, {creating, false}, open->decision, open->hints.wanted, open->opens);
  const bool willing = open->hints.wanted.count == 0 || open->tuned_info != 0;
  if (all_agree(*mpi, own, willing, hash_hints(kHashStart, open->hints))) {
    if (open->tuned_info != 0) info = open->tuned_info;
    return;
  }
  if (open->tuned_info != 0) mpi->MPI_Info_free(&open->tuned_info);
  open->tuned_info = 0;
  disarm(open->opens);
  clear(open->opens);
  drop_hints(open->decision, "the ranks would not all apply the same settings", open->hints);
}

void after_mpiio_open(Provider& provider, const char* path, Word file, int result,
                      OpenState& state) noexcept {
  auto* const open = reinterpret_cast<OpenInProgress*>(state.words[0]);
  const MpiApi* const mpi = recorder::mpi_api(provider);
  if (open == nullptr || mpi == nullptr) return;
  disarm(open->opens);
  if (open->notes) {
    note_decision(path, open->decision);
    note_hints(*mpi, result == 0 ? file : 0, path, open->decision, open->hints);
    finish_and_note(open->opens, open->hints.wanted);
  }
  if (open->tuned_info != 0) mpi->MPI_Info_free(&open->tuned_info);
  g_spare.give_back(open);
  state.words[0] = 0;
}

}  // namespace iotune::tuner
