#include "tuner/hdf5/hdf5_open.h"

#include <cstring>

#include "core/abi/hdf5_api.h"
#include "core/run/presence.h"
#include "recorder/hooks/decisions.h"
#include "tuner/decision/file_plan.h"
#include "tuner/decision/file_timer.h"
#include "tuner/decision/outcome_notes.h"
#include "tuner/decision/program_settings.h"
#include "tuner/hdf5/file_access.h"
#include "tuner/hdf5/hdf5_backend.h"
#include "tuner/hdf5/hidden_errors.h"
#include "tuner/mpiio/hint_gates.h"
#include "tuner/opens/collective_open.h"

namespace iotune::tuner {
namespace {

using recorder::Hdf5Making;
using recorder::OpenState;

struct Hdf5Open : CollectiveOpen {
  const Hdf5Api* api;
  ListSettings program;
  Hid program_fapl;            // as the program passed it
  Hid given_fapl, tuned_fapl;  // a list to start from, and the one that is passed; -1: none
  bool owns_given;
  HiddenErrors errors;
  FilePlan* plan;  // nullptr: nothing concerns datasets
  FileOpening opening;
};

constinit SpareMemory<Hdf5Open> g_spare;

constexpr int kTimerStart = 1;  // word of an OpenState: when the open of the deciding rank began

Hdf5Open* in_progress(const OpenState& state) noexcept {
  return reinterpret_cast<Hdf5Open*>(state.words[0]);
}

Hdf5Open& self(CollectiveOpen& open) noexcept {
  return static_cast<Hdf5Open&>(open);
}

void forget(Hdf5Open& open) noexcept {
  if (open.owns_given && open.given_fapl >= 0) open.api->H5Pclose(open.given_fapl);
  discard_file_plan(open.plan);
  g_spare.give_back(&open);
}

bool plan(CollectiveOpen& common, std::uint64_t& hash) noexcept {
  Hdf5Open& open = self(common);
  const Decision& decision = open.answer.decision;
  hash = hash_hints(hash_file_access(*open.api, hash, open.program, decision, open.opening),
                    open.hints);
  if (!concerns_datasets(decision)) return true;
  open.plan = make_file_plan(decision);
  return open.plan != nullptr;
}

void add_candidates(CollectiveOpen& common) noexcept {
  Hdf5Open& open = self(common);
  add_file_access(*open.api, open.program, open.answer.decision, open.opening, open.attempts);
}

// Builds the tuned list. With MPI this is collective over the private communicator, because
// H5Pset_fapl_mpio is; every rank calls it after the same agreement. A list costs several
// duplicates of its communicator.
bool build(CollectiveOpen& common) noexcept {
  Hdf5Open& open = self(common);
  const Hdf5Api& api = *open.api;
  const Hid copy = api.H5Pcopy(open.given_fapl);
  if (copy < 0) return false;
  const QuietProbes quiet(api);
  bool good =
      set_file_access(api, copy, open.program, open.answer.decision, open.opening, open.attempts);
  if (open.mpi != nullptr && has_hints_for_mpiio(open.hints)) {
    Word info = make_info(*open.mpi, open.info, open.hints, open.answer.decision, open.attempts);
    // A rank without memory for an MPI_Info still takes part, with the program's hints; the
    // vote after this call takes the list back everywhere.
    const Word passed = info == 0 ? open.info : info;
    good = api.H5Pset_fapl_mpio(copy, open.comm, passed) >= 0 && info != 0 && good;
    if (info != 0) open.mpi->MPI_Info_free(&info);
  }
  if (good) {
    open.tuned_fapl = copy;
  } else {
    api.H5Pclose(copy);
  }
  return good;
}

void discard(CollectiveOpen& common) noexcept {
  Hdf5Open& open = self(common);
  if (open.tuned_fapl >= 0) open.api->H5Pclose(open.tuned_fapl);
  open.tuned_fapl = -1;
}

void keep_words_of(CollectiveOpen& open, const OpenOutcome&) noexcept {
  char words[200];
  copy_last_words(*self(open).api, words, sizeof words);
  keep_words(open.attempts, words);
}

constexpr OpenKind kHdf5Open = {
    .layer = "hdf5",
    .plan = plan,
    .add_candidates = add_candidates,
    .build = build,
    .discard = discard,
    .keep_words_of = keep_words_of,
    .may_close = [](const CollectiveOpen&) noexcept { return true; },
    .close = [](CollectiveOpen& open,
                Word file) noexcept { self(open).api->H5Fclose(static_cast<Hid>(file)); },
};

// The MPI whose ranks decide together; nullptr where the file is left alone.
const MpiApi* mpi_of(const ListSettings& program) noexcept {
  Provider* const world = world_provider();
  const MpiApi* const mpi = world == nullptr ? nullptr : mpi_api(*world);
  const bool is_parallel = program.mpio && mpi != nullptr && program.private_comm != 0 &&
                           program.private_comm != mpi->constants.comm_null;
  return is_parallel ? mpi : nullptr;
}

void note_none_applied(const char* path, const Decision& decision, Verdict verdict,
                       Reason reason) noexcept {
  for (int i = 0; i < decision.setting_count; ++i) {
    const Setting setting = setting_of(decision, i);
    note_setting(path, setting.name, setting.value, "", verdict, {reason});
  }
}

Hid access_list_of(const Hdf5Api& api, Hid file) noexcept {
  const QuietProbes quiet(api);
  return api.H5Fget_access_plist(file);
}

// Reads back the settings that the open file really has, and notes them.
void note_outcome(const Hdf5Api& api, const char* path, Hid file, Hid opened,
                  const Hdf5Open& open) noexcept {
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

void keep_datasets_plan(Provider& hdf5, const char* path, Hid file, Hdf5Open& open) noexcept {
  FilePlan& plan = *open.plan;
  std::strncpy(plan.path, path, sizeof plan.path - 1);
  plan.mpio = open.mpi != nullptr;
  plan.comm = plan.mpio ? open.comm : 0;
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
  ListSettings program = settings_of(hdf5, fapl);
  // The program has set another driver since: what was seen of the list does not hold any more.
  // Checked only where MPI-IO was set: asking another list could fail and disturb the error stack.
  if (api != nullptr && program.mpio && api->H5Pget_driver(fapl) != program.driver) program = {};
  const MpiApi* const mpi = mpi_of(program);
  if (program.mpio && mpi == nullptr) return;
  // Other ranks may have another VOL connector.
  const bool able = api != nullptr && (mpi == nullptr || has_native_connector(*api, fapl));
  Hdf5Open* const open = take_part(g_spare, mpi, program.private_comm, able);
  if (open == nullptr) return;
  open->kind = &kHdf5Open;
  open->mpi = mpi;
  open->comm = program.private_comm;
  open->info = program.info;
  open->path = path;
  open->opening = {making == Hdf5Making::kEmpties || making == Hdf5Making::kMakesNew,
                   making == Hdf5Making::kReads};
  // An H5Fcreate that finds a file truncates it or fails.
  open->making = {open->opening.creating, true};
  open->must_be_new = making == Hdf5Making::kMakesNew;
  open->api = api;
  open->program = program;
  open->program_fapl = open->given_fapl = fapl;
  open->tuned_fapl = -1;
  open->owns_given = mpi == nullptr;
  open->errors = {};
  open->plan = nullptr;
  if (open->owns_given) open->given_fapl = serial_list(hdf5, *api, fapl);
  // Timed also where nothing is decided: the first file of a series is its baseline.
  if (mpi != nullptr && open->opening.creating && rank_in(*mpi, open->comm) == 0) {
    state.words[kTimerStart] = file_timer_ns();
  }
  if (open->given_fapl < 0 || !decide_open(*open, state.named_relatively)) {
    forget(*open);
    return;
  }
  state.words[0] = reinterpret_cast<std::uint64_t>(open);
  if (!open->carries) return;
  fapl = open->tuned_fapl;
  hide_errors(*api, open->errors);
}

bool again_hdf5_open(Provider&, const char* path, std::int64_t file, std::int64_t& fapl,
                     OpenState& state) noexcept {
  Hdf5Open* const open = in_progress(state);
  if (open == nullptr) return false;
  open->path = path;
  const bool again = repeat_open(*open, {file < 0, static_cast<Word>(file), 0});
  if (!open->carries) show_errors(*open->api, open->errors);
  if (again) fapl = open->tuned_fapl >= 0 ? open->tuned_fapl : open->program_fapl;
  return again;
}

void after_hdf5_open(Provider& hdf5, const char* path, std::int64_t file,
                     OpenState& state) noexcept {
  if (file >= 0 && state.words[kTimerStart] != 0) {
    start_file_timer(hdf5, file, path, state.words[kTimerStart]);
  }
  Hdf5Open* const open = in_progress(state);
  if (open == nullptr) return;
  const Hdf5Api& api = *open->api;
  const Decision& decision = open->answer.decision;
  disarm(open->opens);
  // The error stack of a failed open belongs to the program: closing our list would empty it.
  const Hid failed_stack = file < 0 ? api.H5Eget_current_stack() : -1;
  // The file's own access list holds what the program set on the list it passed.
  if (file >= 0) inherit_settings(hdf5, file, open->program);
  const bool good = file >= 0 && open->failure == Reason::kNone;
  // On every rank, because reading the access list back duplicates the communicator. Left out where
  // nothing of it is needed (hints are read from the file that MPI has open).
  const Hid opened = good && concerns_file_access(decision) ? access_list_of(api, file) : -1;
  if (open->notes) {
    if (file >= 0) {
      note_decision_of_hdf5(path, file, decision);
    } else {
      note_decision(path, decision);
    }
    if (good) {
      note_outcome(api, path, file, opened, *open);
    } else {
      const bool pending = file == recorder::kPendingFile && open->failure == Reason::kNone;
      const Reason why = open->failure != Reason::kNone ? open->failure
                         : pending                      ? Reason::kStillOpening
                                                        : Reason::kProgramsCallFailed;
      note_none_applied(path, decision, pending ? Verdict::kUnverifiable : Verdict::kRefused, why);
    }
  }
  if (good && open->plan != nullptr) keep_datasets_plan(hdf5, path, file, *open);
  if (opened >= 0) api.H5Pclose(opened);
  discard(*open);
  forget(*open);
  state.words[0] = 0;
  if (failed_stack >= 0) api.H5Eset_current_stack(failed_stack);
}

}  // namespace iotune::tuner
