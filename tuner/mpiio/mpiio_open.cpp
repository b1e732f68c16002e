#include "tuner/mpiio/mpiio_open.h"

#include "core/run/presence.h"
#include "recorder/hooks/decisions.h"
#include "tuner/decision/outcome_notes.h"
#include "tuner/mpiio/ordered_calls.h"
#include "tuner/opens/collective_open.h"

namespace iotune::tuner {
namespace {

using recorder::OpenState;

struct MpiioOpen : CollectiveOpen {
  Word tuned_info;  // 0: none
  int amode;        // as AccessMode has it
};

constinit SpareMemory<MpiioOpen> g_spare;

MpiioOpen* in_progress(const OpenState& state) noexcept {
  return reinterpret_cast<MpiioOpen*>(state.words[0]);
}

MpiioOpen& self(CollectiveOpen& open) noexcept {
  return static_cast<MpiioOpen&>(open);
}

bool plan(CollectiveOpen& open, std::uint64_t& hash) noexcept {
  const Decision& decision = open.answer.decision;
  for (int i = 0; i < decision.setting_count; ++i) {
    if (!is_beneath_hdf5(setting_of(decision, i).name)) {
      open.hints.refused[i] = Reason::kNotThroughHdf5;
    }
  }
  hash = hash_hints(hash, open.hints);
  return can_remember(open.hints.wanted);
}

bool build(CollectiveOpen& open) noexcept {
  self(open).tuned_info =
      make_info(*open.mpi, open.info, open.hints, open.answer.decision, open.attempts);
  return self(open).tuned_info != 0;
}

void discard(CollectiveOpen& open) noexcept {
  Word& info = self(open).tuned_info;
  if (info != 0) open.mpi->MPI_Info_free(&info);
  info = 0;
}

// Asks on rank 0 alone, which writes the notes. ROMIO sends rank 0's code to the others where rank
// 0 makes the file, and MPICH prints a complaint about a code that another process made.
void keep_words_of(CollectiveOpen& open, const OpenOutcome& outcome) noexcept {
  if (!open.notes) return keep_words(open.attempts, "on another rank");
  char words[8192 + 1];  // MPI_MAX_ERROR_STRING of the largest
  int length = 0;
  if (open.mpi->MPI_Error_string(outcome.code, words, &length) != 0) length = 0;
  words[length] = '\0';
  for (char* c = words; *c != '\0'; ++c) *c = *c == '\n' ? ' ' : *c;
  keep_words(open.attempts, words);
}

constexpr OpenKind kMpiioOpen = {
    .layer = "mpiio",
    .plan = plan,
    .add_candidates = [](CollectiveOpen&) noexcept {},
    .build = build,
    .discard = discard,
    .keep_words_of = keep_words_of,
    // To close it there would remove the file.
    .may_close =
        [](const CollectiveOpen& open) noexcept {
          return (static_cast<const MpiioOpen&>(open).amode & kModeDeleteOnClose) == 0;
        },
    .close = [](CollectiveOpen& open, Word file) noexcept { open.mpi->MPI_File_close(&file); },
};

}  // namespace

void before_mpiio_open(Provider& provider, Word comm, const char* path, int amode, Word& info,
                       OpenState& state) noexcept {
  const MpiApi* const mpi = mpi_api(provider);
  if (mpi == nullptr || world_provider() != &provider) return;
  const Word own = private_communicator(*mpi, comm);
  if (own == mpi->constants.comm_null) return;
  MpiioOpen* const open = take_part(g_spare, mpi, own, true);
  if (open == nullptr) return;
  constexpr int kNew = kModeCreate | kModeExclusive;
  open->kind = &kMpiioOpen;
  open->mpi = mpi;
  open->comm = own;
  open->info = info;
  open->path = path;
  open->amode = common_amode(mpi->abi, amode);
  open->making = {(open->amode & kModeCreate) != 0, false};
  open->must_be_new = (open->amode & kNew) == kNew;
  open->tuned_info = 0;
  if (!decide_open(*open, state.named_relatively)) {
    g_spare.give_back(open);
    return;
  }
  state.words[0] = reinterpret_cast<std::uint64_t>(open);
  if (open->failure != Reason::kNone) {
    drop_hints(open->answer.decision, open->failure, open->hints);
  }
  if (open->carries) info = open->tuned_info;
}

bool again_mpiio_open(Provider&, const char* path, Word file, int result, Word& info,
                      OpenState& state) noexcept {
  MpiioOpen* const open = in_progress(state);
  if (open == nullptr) return false;
  open->path = path;
  if (!repeat_open(*open, {result != 0, file, result})) return false;
  info = open->tuned_info != 0 ? open->tuned_info : open->info;
  return true;
}

void after_mpiio_open(Provider&, const char* path, Word file, int result,
                      OpenState& state) noexcept {
  MpiioOpen* const open = in_progress(state);
  const bool has_hints = open != nullptr && open->tuned_info != 0;
  if (file != 0) remember_exchange(file, has_hints ? &open->hints.wanted : nullptr);
  if (open == nullptr) return;
  disarm(open->opens);
  if (open->notes) {
    note_decision(path, open->answer.decision);
    if (result != 0) excuse_hints(open->hints);
    note_hints(*open->mpi, result == 0 ? file : 0, path, open->answer.decision, open->hints);
    finish_and_note(open->opens, open->hints.wanted);
  }
  discard(*open);
  g_spare.give_back(open);
  state.words[0] = 0;
}

}  // namespace iotune::tuner
