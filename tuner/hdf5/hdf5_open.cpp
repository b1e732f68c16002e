#include "tuner/hdf5/hdf5_open.h"

#include <cstring>

#include "core/abi/hdf5_api.h"
#include "core/process/privilege_drop.h"
#include "core/run/presence.h"
#include "patterndb/decide/decision.h"
#include "recorder/hooks/open_hooks.h"
#include "recorder/ring/process_buffer.h"
#include "recorder/wrappers/descriptors/path_filter.h"
#include "tuner/decision/agreement.h"
#include "tuner/decision/file_plan.h"
#include "tuner/decision/file_timer.h"
#include "tuner/decision/outcome_notes.h"
#include "tuner/decision/program_settings.h"
#include "tuner/hdf5/file_access.h"
#include "tuner/hdf5/hdf5_backend.h"
#include "tuner/hdf5/hidden_errors.h"
#include "tuner/mpiio/hint_gates.h"
#include "tuner/mpiio/mpiio_hints.h"
#include "tuner/posix/made_file.h"
#include "tuner/posix/posix_opens.h"
#include "tuner/posix/spare_memory.h"

namespace iotune::tuner {
namespace {

using recorder::Hdf5Making;
using recorder::OpenState;

// What one open keeps from before to after; in memory of its own, because threads may open at the
// same time.
struct OpenInProgress {
  iotune_answer answer;
  HintPlan hints;
  ListSettings program;
  Hid program_fapl;            // as the program passed it
  Hid given_fapl, tuned_fapl;  // a list to start from, and the one that is passed; -1: none
  bool owns_given;
  CallAttempts attempts;
  HiddenErrors errors;
  HiddenFileErrors file_errors;
  MadeFile made;
  Hdf5Making making;
  PosixOpens opens;
  FilePlan* plan;     // nullptr: nothing concerns datasets
  const MpiApi* mpi;  // nullptr: a serial open
  FileOpening opening;
  bool notes;
  Reason failure;  // why nothing was put into the call; kNone: something was, or nothing is
};

constinit SpareMemory<OpenInProgress> g_spare;

// Sets all fields, except for arrays beyond their counts and values behind flags that are off.
void begin(OpenInProgress& open, Hid fapl, Hdf5Making making) noexcept {
  clear(open.answer.decision);
  clear(open.hints);
  open.program = {};
  open.program_fapl = open.given_fapl = fapl;
  open.tuned_fapl = -1;
  open.owns_given = false;
  clear(open.attempts);
  open.errors = {};
  open.file_errors = {};
  open.made.made = false;
  open.making = making;
  open.plan = nullptr;
  open.mpi = nullptr;
  open.opening.creating = making == Hdf5Making::kEmpties || making == Hdf5Making::kMakesNew;
  open.opening.only_reads = making == Hdf5Making::kReads;
  open.notes = false;
  open.failure = Reason::kNone;
  clear(open.opens);
}

constexpr int kTimerStart = 1;  // word of an OpenState: when the open of the deciding rank began

OpenInProgress* in_progress(const OpenState& state) noexcept {
  return reinterpret_cast<OpenInProgress*>(state.words[0]);
}
void forget(const Hdf5Api& api, OpenState& state) noexcept {
  OpenInProgress& open = *in_progress(state);
  if (open.owns_given && open.given_fapl >= 0) api.H5Pclose(open.given_fapl);
  discard_file_plan(open.plan);
  g_spare.give_back(in_progress(state));
  state.words[0] = 0;
}

// Builds the tuned list. With MPI this is collective over the private communicator, because
// H5Pset_fapl_mpio is; every rank calls it after the same agreement.
Hid tuned_list(const Hdf5Api& api, const OpenInProgress& open) noexcept {
  const Hid copy = api.H5Pcopy(open.given_fapl);
  if (copy < 0) return -1;
  const QuietProbes quiet(api);
  bool good =
      set_file_access(api, copy, open.program, open.answer.decision, open.opening, open.attempts);
  if (open.mpi != nullptr && has_hints_for_mpiio(open.hints)) {
    Word info =
        make_info(*open.mpi, open.program.info, open.hints, open.answer.decision, open.attempts);
    // A rank without memory for an MPI_Info still takes part, with the program's hints; the
    // vote after this call takes the list back everywhere.
    const Word passed = info == 0 ? open.program.info : info;
    good = api.H5Pset_fapl_mpio(copy, open.program.private_comm, passed) >= 0 && info != 0 && good;
    if (info != 0) open.mpi->MPI_Info_free(&info);
  }
  if (good) return copy;
  api.H5Pclose(copy);
  return -1;
}

// The MPI whose ranks decide together; nullptr where the file is left alone.
const MpiApi* mpi_of(const ListSettings& program) noexcept {
  Provider* const world = world_provider();
  const MpiApi* const mpi = world == nullptr ? nullptr : mpi_api(*world);
  const bool is_parallel = program.mpio && mpi != nullptr && program.private_comm != 0 &&
                           program.private_comm != mpi->constants.comm_null;
  return is_parallel ? mpi : nullptr;
}

// False where there is no memory for the plan.
bool plan_datasets(OpenInProgress& open) noexcept {
  if (!concerns_datasets(open.answer.decision)) return true;
  open.plan = make_file_plan(open.answer.decision);
  return open.plan != nullptr;
}

// An H5Fcreate that finds a file truncates it or fails.
void arm(const char* path, OpenInProgress& open) noexcept {
  arm(path, {open.opening.creating, true}, open.answer.decision, open.hints.wanted, open.opens);
}

// A call that must make a new file and fails with our settings may leave a file that makes the next
// try fail. Only the open in the POSIX layer shows whether the call made that file: where such
// opens are not recorded, nothing is put into the call.
Reason why_no_list(const char* path, const OpenInProgress& open) noexcept {
  const bool seen = recorder::path_is_traced(path) && recorder::buffer_exists();
  return open.making != Hdf5Making::kMakesNew || seen ? Reason::kNone : Reason::kOpensNotRecorded;
}

void note_none_applied(const char* path, const Decision& decision, Verdict verdict,
                       Reason reason) noexcept {
  for (int i = 0; i < decision.setting_count; ++i) {
    const Setting setting = setting_of(decision, i);
    note_setting(path, setting.name, setting.value, "", verdict, {reason});
  }
}

bool decide_with_others(const MpiApi& mpi, const Hdf5Api& api, const char* path,
                        bool named_relatively, OpenInProgress& open) noexcept {
  const Word comm = open.program.private_comm;
  if (!receive_decision(mpi, comm, {path, "hdf5", open.opening.creating, 0, 1, nullptr},
                        open.answer)) {
    return false;
  }
  open.mpi = &mpi;
  open.notes = rank_in(mpi, comm) == 0 && open.answer.decision.source != IOTUNE_SOURCE_NONE;
  if (open.answer.decision.setting_count == 0) return true;  // nothing to vote on, nothing planned
  plan_hints(mpi, path, open.program.info, open.answer.decision, {run_nodes(), named_relatively},
             open.hints);
  const std::uint64_t hash = hash_hints(
      hash_file_access(api, kHashStart, open.program, open.answer.decision, open.opening),
      open.hints);
  const Reason no_list = why_no_list(path, open);
  if (!all_agree(mpi, comm, plan_datasets(open) && no_list == Reason::kNone, hash)) {
    clear(open.hints.wanted);
    if (open.notes) {
      note_decision(path, open.answer.decision);
      note_none_applied(path, open.answer.decision, Verdict::kRefused,
                        no_list != Reason::kNone ? no_list : Reason::kRanksDiffer);
      open.notes = false;
    }
    return false;
  }
  if (hash == kHashStart) return true;  // agreed that nothing is to be changed
  // A list costs several duplicates of its communicator: made only for settings that need it.
  const bool by_list =
      has_hints_for_mpiio(open.hints) || concerns_file_access(open.answer.decision);
  if (by_list) open.tuned_fapl = tuned_list(api, open);
  // Before the vote: no rank makes the file before the vote, so it is still known whether it
  // existed.
  arm(path, open);
  if (all_agree(mpi, comm, !by_list || open.tuned_fapl >= 0, 0)) return true;
  disarm(open.opens);
  if (open.tuned_fapl >= 0) api.H5Pclose(open.tuned_fapl);
  open.tuned_fapl = -1;
  open.failure = Reason::kNoListOnARank;
  return true;
}

bool decide_alone(const Hdf5Api& api, const char* path, OpenInProgress& open) noexcept {
  FileQuestion question{path, "hdf5", open.opening.creating, 1, run_nodes(), nullptr};
  ask_as_run(1, question);
  if (!ask_database(question, open.answer)) return false;
  open.notes = true;
  if (open.answer.decision.setting_count == 0) return true;
  open.failure = why_no_list(path, open);
  if (open.failure != Reason::kNone) return true;
  plan_datasets(open);
  fill(open.hints.wanted, open.answer.decision);  // for what goes by the descriptor
  open.tuned_fapl = tuned_list(api, open);
  if (open.tuned_fapl < 0) open.failure = Reason::kNoListOnARank;
  if (open.failure == Reason::kNone) arm(path, open);
  return true;
}

void start_attempts(const Hdf5Api& api, const char* path, OpenInProgress& open) noexcept {
  add_file_access(api, open.program, open.answer.decision, open.opening, open.attempts);
  if (open.mpi != nullptr) {
    add_hints(open.answer.decision, open.hints, open.attempts);
    hide_file_errors(*open.mpi, open.file_errors);
  }
  watch(path, open.made);
  hide_errors(api, open.errors);
}

void end_attempts(const Hdf5Api& api, OpenInProgress& open) noexcept {
  unwatch();
  show_errors(api, open.errors);
  if (open.mpi != nullptr) show_file_errors(*open.mpi, open.file_errors);
}

bool agree(const OpenInProgress& open, bool mine) noexcept {
  return open.mpi == nullptr ? mine : all_agree(*open.mpi, open.program.private_comm, mine, 0);
}

// Whether the call would fail with any settings: its file is missing, or a new file cannot be made.
bool is_hopeless(const char* path, OpenInProgress& open) noexcept {
  if (open.making == Hdf5Making::kMakesNew) return !remove_made(open.made);
  return !is_there(path);
}

// Called after each call. All ranks have made the same attempts before.
bool make_again(const Hdf5Api& api, const char* path, Hid file, Hid& fapl,
                OpenInProgress& open) noexcept {
  if (is_own_call(open.attempts)) return false;
  const bool failed = file < 0;
  if (failed) {
    char words[200];
    copy_last_words(api, words, sizeof words);
    keep_words(open.attempts, words);
  }
  if (agree(open, !failed)) {
    end_attempts(api, open);
    leave_out_hints(open.answer.decision, open.attempts, open.hints);
    return false;
  }
  if (failed) {
    keep_words(open.attempts, "");
  } else {
    keep_words(open.attempts, "on another rank");
    api.H5Fclose(file);
  }
  api.H5Pclose(open.tuned_fapl);
  open.tuned_fapl = -1;
  const bool hopeless = is_hopeless(path, open);
  advance(open.attempts, agree(open, hopeless));
  if (!is_own_call(open.attempts)) {
    open.tuned_fapl = tuned_list(api, open);
    if (!agree(open, open.tuned_fapl >= 0)) advance(open.attempts, true);
  }
  if (!is_own_call(open.attempts)) {
    fapl = open.tuned_fapl;
    return true;
  }
  if (open.tuned_fapl >= 0) api.H5Pclose(open.tuned_fapl);
  open.tuned_fapl = -1;
  end_attempts(api, open);
  leave_out_hints(open.answer.decision, open.attempts, open.hints);
  fapl = open.program_fapl;
  return true;
}

Hid access_list_of(const Hdf5Api& api, Hid file) noexcept {
  const QuietProbes quiet(api);
  return api.H5Fget_access_plist(file);
}

// Reads back the settings that the open file really has, and notes them.
void note_outcome(const Hdf5Api& api, const char* path, Hid file, Hid opened,
                  const OpenInProgress& open) noexcept {
  if (open.answer.decision.setting_count == 0) return;
  const QuietProbes quiet(api);
  note_file_access(api, file, opened, path, open.program, open.answer.decision, open.opening,
                   open.attempts);
  finish_and_note(open.opens, open.hints.wanted);
  if (open.mpi == nullptr) {
    for (int i = 0; i < open.answer.decision.setting_count; ++i) {
      const Setting setting = setting_of(open.answer.decision, i);
      if (goes_by_info(setting.name) || std::strcmp(setting.name, kIndividualIoSetting) == 0) {
        note_setting(path, setting.name, setting.value, "", Verdict::kRefused,
                     {Reason::kNotThroughMpiIo});
      }
    }
    return;
  }
  void* handle = nullptr;
  Word mpi_file = 0;
  if (api.H5Fget_vfd_handle(file, 0, &handle) >= 0 && handle != nullptr) {
    mpi_file = *static_cast<Word*>(handle);
  }
  note_hints(*open.mpi, mpi_file, path, open.answer.decision, open.hints);
}

void keep_datasets_plan(Provider& hdf5, const char* path, Hid file, OpenInProgress& open) noexcept {
  FilePlan& plan = *open.plan;
  std::strncpy(plan.path, path, sizeof plan.path - 1);
  plan.mpio = open.mpi != nullptr;
  plan.comm = plan.mpio ? open.program.private_comm : 0;
  plan.individual_io = open.hints.individual_io;
  plan.cache_set_by_program = (open.program.set_by_program & kSetCache) != 0;
  plan.notes = open.notes;
  keep_file_plan(hdf5, file, &plan);
  open.plan = nullptr;
}

}  // namespace

void follow_fapl_mpio(Provider& hdf5, std::int64_t fapl, Word comm, Word info) noexcept {
  Provider* const world = world_provider();
  const MpiApi* const mpi = world == nullptr ? nullptr : mpi_api(*world);
  if (mpi == nullptr) return;
  ListSettings settings = settings_of(hdf5, fapl);
  settings.mpio = true;
  const Hdf5Api* const api = hdf5_api(hdf5);
  settings.driver = api == nullptr ? -1 : api->H5Pget_driver(fapl);
  settings.private_comm = private_communicator(*mpi, comm);
  // store_settings frees what the list held before.
  Word copy = mpi->constants.info_null;
  if (((info ^ mpi->constants.info_null) & mpi->constants.handle_mask) != 0) {
    copy = 0;
    if (mpi->MPI_Info_dup(info, &copy) != 0) copy = mpi->constants.info_null;
  }
  settings.info = copy;
  store_settings(hdf5, fapl, settings);
}

void before_hdf5_open(Provider& hdf5, const char* path, Hdf5Making making, std::int64_t& fapl,
                      OpenState& state) noexcept {
  const Hdf5Api* const api = hdf5_api(hdf5);
  // A rank that gave up its rights votes for leaving the file alone, as one without memory does.
  OpenInProgress* const open = has_dropped_privileges() ? nullptr : g_spare.take();
  if (open == nullptr || api == nullptr) {
    const ListSettings program = settings_of(hdf5, fapl);
    if (const MpiApi* const mpi = mpi_of(program)) decline(*mpi, program.private_comm);
    if (open != nullptr) g_spare.give_back(open);
    return;
  }
  state.words[0] = reinterpret_cast<std::uint64_t>(open);
  begin(*open, fapl, making);
  open->program = settings_of(hdf5, fapl);
  // The program has set another driver since: what was seen of the list does not hold any more.
  // Checked only where MPI-IO was set: asking another list could fail and disturb the error stack.
  if (open->program.mpio && api->H5Pget_driver(fapl) != open->program.driver) open->program = {};

  bool decided = false;
  if (open->program.mpio) {
    const MpiApi* const mpi = mpi_of(open->program);
    // This is a vote too: other ranks may have another VOL connector.
    if (mpi != nullptr && !has_native_connector(*api, fapl)) {
      decline(*mpi, open->program.private_comm);
      forget(*api, state);
      return;
    }
    // Timed also where nothing is decided: the first file of a series is its baseline.
    if (mpi != nullptr && open->opening.creating &&
        rank_in(*mpi, open->program.private_comm) == 0) {
      state.words[kTimerStart] = file_timer_ns();
    }
    decided = mpi != nullptr && decide_with_others(*mpi, *api, path, state.named_relatively, *open);
  } else {
    open->given_fapl = serial_list(hdf5, *api, fapl);
    open->owns_given = true;
    decided = open->given_fapl >= 0 && decide_alone(*api, path, *open);
  }
  if (!decided) {
    forget(*api, state);
    return;
  }
  if (open->tuned_fapl < 0) return;
  fapl = open->tuned_fapl;
  start_attempts(*api, path, *open);
}

bool again_hdf5_open(Provider& hdf5, const char* path, std::int64_t file, std::int64_t& fapl,
                     OpenState& state) noexcept {
  OpenInProgress* const open = in_progress(state);
  const Hdf5Api* const api = hdf5_api(hdf5);
  if (open == nullptr || api == nullptr || open->tuned_fapl < 0) return false;
  return make_again(*api, path, file, fapl, *open);
}

void after_hdf5_open(Provider& hdf5, const char* path, std::int64_t file,
                     OpenState& state) noexcept {
  // The file's own access list holds what the program set on the list it passed.
  OpenInProgress* const open = in_progress(state);
  const Hdf5Api* const api = hdf5_api(hdf5);
  if (file >= 0 && state.words[kTimerStart] != 0) {
    start_file_timer(hdf5, file, path, state.words[kTimerStart]);
  }
  if (open == nullptr || api == nullptr) return;
  disarm(open->opens);
  // The error stack of a failed open belongs to the program: closing our list would empty it.
  const Hid failed_stack = file < 0 ? api->H5Eget_current_stack() : -1;
  if (file >= 0) inherit_settings(hdf5, file, open->program);
  // On every rank, because reading the access list back duplicates the communicator. Left out where
  // nothing of it is needed (hints are read from the file that MPI has open).
  const bool by_list = open->tuned_fapl >= 0 && concerns_file_access(open->answer.decision);
  const Hid opened = file >= 0 && by_list ? access_list_of(*api, file) : -1;
  if (open->notes) {
    if (file >= 0) {
      note_decision_of_hdf5(path, file, open->answer.decision);
    } else {
      note_decision(path, open->answer.decision);
    }
    if (file < 0 || open->failure != Reason::kNone) {
      const bool pending = file == recorder::kPendingFile && open->failure == Reason::kNone;
      const Reason why = open->failure != Reason::kNone ? open->failure
                         : pending                      ? Reason::kStillOpening
                                                        : Reason::kProgramsCallFailed;
      note_none_applied(path, open->answer.decision,
                        pending ? Verdict::kUnverifiable : Verdict::kRefused, why);
    } else {
      note_outcome(*api, path, file, opened, *open);
    }
  }
  if (file >= 0 && open->plan != nullptr && open->failure == Reason::kNone)
    keep_datasets_plan(hdf5, path, file, *open);
  if (opened >= 0) api->H5Pclose(opened);
  if (open->tuned_fapl >= 0) api->H5Pclose(open->tuned_fapl);
  forget(*api, state);
  if (failed_stack >= 0) api->H5Eset_current_stack(failed_stack);
}

}  // namespace iotune::tuner
