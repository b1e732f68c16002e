#include "tuner/mpiio/mpiio_open.h"

#include "core/process/privilege_drop.h"
#include "core/run/presence.h"
#include "recorder/hooks/open_hooks.h"
#include "recorder/ring/process_buffer.h"
#include "recorder/wrappers/descriptors/path_filter.h"
#include "tuner/decision/agreement.h"
#include "tuner/decision/outcome_notes.h"
#include "tuner/hdf5/hidden_errors.h"
#include "tuner/mpiio/mpiio_hints.h"
#include "tuner/mpiio/ordered_calls.h"
#include "tuner/posix/made_file.h"
#include "tuner/posix/posix_opens.h"
#include "tuner/posix/spare_memory.h"

namespace iotune::tuner {
namespace {

using recorder::OpenState;

struct OpenInProgress {
  iotune_answer answer;
  HintPlan hints;
  PosixOpens opens;
  Word comm;  // the private one
  Word program_info, tuned_info;
  int amode;  // as AccessMode has it
  CallAttempts attempts;
  HiddenFileErrors errors;
  MadeFile made;
  bool notes;
};

constinit SpareMemory<OpenInProgress> g_spare;

bool must_be_new(const OpenInProgress& open) noexcept {
  constexpr int kNew = kModeCreate | kModeExclusive;
  return (open.amode & kNew) == kNew;
}

// Whether the call would fail whatever it carries: there is no file for it, or one in its way.
bool is_hopeless(const char* path, OpenInProgress& open) noexcept {
  return must_be_new(open) ? !remove_made(open.made) : !is_there(path);
}

void end_attempts(const MpiApi& mpi, OpenInProgress& open) noexcept {
  unwatch();
  show_file_errors(mpi, open.errors);
  leave_out_hints(open.answer.decision, open.attempts, open.hints);
}

// Asks on rank 0 alone, which writes the notes. ROMIO sends rank 0's code to the others where rank
// 0 makes the file, and MPICH prints a complaint about a code that another process made.
void keep_words_of(const MpiApi& mpi, int result, OpenInProgress& open) noexcept {
  if (!open.notes) return keep_words(open.attempts, "on another rank");
  char words[8192 + 1];  // MPI_MAX_ERROR_STRING of the largest
  int length = 0;
  if (mpi.MPI_Error_string(result, words, &length) != 0) length = 0;
  words[length] = '\0';
  for (char* c = words; *c != '\0'; ++c) *c = *c == '\n' ? ' ' : *c;
  keep_words(open.attempts, words);
}

void free_info(const MpiApi& mpi, OpenInProgress& open) noexcept {
  if (open.tuned_info != 0) mpi.MPI_Info_free(&open.tuned_info);
  open.tuned_info = 0;
}

}  // namespace

void before_mpiio_open(Provider& provider, Word comm, const char* path, int amode, Word& info,
                       OpenState& state) noexcept {
  const MpiApi* const mpi = mpi_api(provider);
  if (mpi == nullptr || world_provider() != &provider) return;
  const Word own = private_communicator(*mpi, comm);
  if (own == mpi->constants.comm_null) return;
  OpenInProgress* const open = has_dropped_privileges() ? nullptr : g_spare.take();
  if (open == nullptr) {
    decline(*mpi, own);
    return;
  }
  open->amode = common_amode(mpi->abi, amode);
  const bool creating = (open->amode & kModeCreate) != 0;
  if (!receive_decision(*mpi, own, {path, "mpiio", creating, 0, 1, nullptr}, open->answer)) {
    g_spare.give_back(open);
    return;
  }
  clear(open->hints);
  open->comm = own;
  open->program_info = info;
  open->tuned_info = 0;
  clear(open->attempts);
  open->errors = {};
  open->made.made = false;
  clear(open->opens);
  state.words[0] = reinterpret_cast<std::uint64_t>(open);
  open->notes = rank_in(*mpi, own) == 0 && open->answer.decision.source != IOTUNE_SOURCE_NONE;
  if (open->answer.decision.setting_count == 0) return;  // nothing to vote on, nothing planned
  plan_hints(*mpi, path, info, open->answer.decision, {run_nodes(), state.named_relatively},
             open->hints);
  for (int i = 0; i < open->answer.decision.setting_count; ++i) {
    if (!is_beneath_hdf5(setting_of(open->answer.decision, i).name)) {
      open->hints.refused[i] = Reason::kNotThroughHdf5;
    }
  }
  // A call that must make its file, and fails with our hints, leaves one in its own way: only the
  // open beneath tells whose file that is.
  const bool seen = recorder::path_is_traced(path) && recorder::buffer_exists();
  if (open->hints.wanted.count > 0 && (seen || !must_be_new(*open))) {
    open->tuned_info = make_info(*mpi, info, open->hints, open->answer.decision, open->attempts);
  }
  arm(path, {creating, false}, open->answer.decision, open->hints.wanted, open->opens);
  const bool willing =
      (open->hints.wanted.count == 0 || open->tuned_info != 0) && can_remember(open->hints.wanted);
  if (all_agree(*mpi, own, willing, hash_hints(kHashStart, open->hints))) {
    if (open->tuned_info == 0) return;
    info = open->tuned_info;
    add_hints(open->answer.decision, open->hints, open->attempts);
    hide_file_errors(*mpi, open->errors);
    watch(path, open->made);
    return;
  }
  free_info(*mpi, *open);
  disarm(open->opens);
  clear(open->opens);
  drop_hints(open->answer.decision, Reason::kRanksDiffer, open->hints);
}

bool again_mpiio_open(Provider& provider, const char* path, Word file, int result, Word& info,
                      OpenState& state) noexcept {
  auto* const open = reinterpret_cast<OpenInProgress*>(state.words[0]);
  const MpiApi* const mpi = mpi_api(provider);
  if (open == nullptr || mpi == nullptr || open->tuned_info == 0) return false;
  // Only placement and advice were wanted: the call carries nothing that it could fail of.
  if (open->attempts.count == 0) return end_attempts(*mpi, *open), false;
  const bool failed = result != 0;
  if (failed) keep_words_of(*mpi, result, *open);
  // To close it there would remove the file.
  const bool may_close = (open->amode & kModeDeleteOnClose) == 0;
  if (all_agree(*mpi, open->comm, !failed, 0) ||
      !all_agree(*mpi, open->comm, failed || may_close, 0)) {
    end_attempts(*mpi, *open);
    return false;
  }
  if (!failed) {
    keep_words(open->attempts, "on another rank");
    mpi->MPI_File_close(&file);
  }
  free_info(*mpi, *open);
  const bool hopeless = is_hopeless(path, *open);
  advance(open->attempts, all_agree(*mpi, open->comm, hopeless, 0));
  if (!is_own_call(open->attempts)) {
    open->tuned_info =
        make_info(*mpi, open->program_info, open->hints, open->answer.decision, open->attempts);
    if (!all_agree(*mpi, open->comm, open->tuned_info != 0, 0)) advance(open->attempts, true);
  }
  if (is_own_call(open->attempts)) {
    free_info(*mpi, *open);
    end_attempts(*mpi, *open);
  }
  info = open->tuned_info != 0 ? open->tuned_info : open->program_info;
  return true;
}

void after_mpiio_open(Provider& provider, const char* path, Word file, int result,
                      OpenState& state) noexcept {
  auto* const open = reinterpret_cast<OpenInProgress*>(state.words[0]);
  const MpiApi* const mpi = mpi_api(provider);
  const bool has_hints = open != nullptr && open->tuned_info != 0;
  if (file != 0) remember_exchange(file, has_hints ? &open->hints.wanted : nullptr);
  if (open == nullptr || mpi == nullptr) return;
  disarm(open->opens);
  if (open->notes) {
    note_decision(path, open->answer.decision);
    if (result != 0) excuse_hints(open->hints);
    note_hints(*mpi, result == 0 ? file : 0, path, open->answer.decision, open->hints);
    finish_and_note(open->opens, open->hints.wanted);
  }
  free_info(*mpi, *open);
  g_spare.give_back(open);
  state.words[0] = 0;
}

}  // namespace iotune::tuner
