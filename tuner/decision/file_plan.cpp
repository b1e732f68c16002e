#include "tuner/decision/file_plan.h"

#include <cstring>

#include "core/os/mapped_file.h"
#include "core/process/jump_safe_guard.h"
#include "core/process/process_events.h"
#include "patterndb/settings/parameters.h"
#include "recorder/hooks/decisions.h"
#include "tuner/decision/outcome_notes.h"
#include "tuner/mpiio/hint_gates.h"

namespace iotune::tuner {
namespace {

// Datasets of one file whose settings are written down: a file may have thousands.
constexpr int kMostNotes = 32;

constinit FilePlan* g_plans = nullptr;
constinit int g_individual = 0;  // plans in the list that want it
constinit ProcessLock g_lock;

bool is_for_datasets(const char* name) noexcept {
  const Parameter* const parameter = find_parameter(name);
  return parameter != nullptr && (parameter->layer == ParameterLayer::kDatasetAccess ||
                                  parameter->layer == ParameterLayer::kDatasetCreation ||
                                  parameter->layer == ParameterLayer::kDatasetTransfer);
}

// HDF5 looks at the property only in transfers that it makes collectively: where it took one apart
// by itself the setting had nothing to say.
IndividualOutcome outcome_of(const IndividualTransfers& done) noexcept {
  if (done.all == 0) return IndividualOutcome::kNoTransfer;
  if (done.kept == 0) return IndividualOutcome::kNotKept;
  if (done.taken_apart == done.all) return IndividualOutcome::kTakenApart;
  if (done.collective + done.taken_apart == 0) return IndividualOutcome::kUnreported;
  const bool whole = done.collective == done.all && done.kept == done.all;
  return whole ? IndividualOutcome::kAllCollective : IndividualOutcome::kInPart;
}

// The lock is held.
void take_out(std::uint32_t provider, std::int64_t file, FilePlan*& freed) noexcept {
  for (FilePlan** link = &g_plans; *link != nullptr; link = &(*link)->next) {
    FilePlan* const plan = *link;
    if (plan->file != file || plan->provider != provider) continue;
    __atomic_store_n(link, plan->next, __ATOMIC_RELAXED);
    if (plan->individual_io) __atomic_fetch_sub(&g_individual, 1, __ATOMIC_RELAXED);
    if (--plan->users == 0) freed = plan;
    return;
  }
}

}  // namespace

void note_individual_io(FilePlan& plan) noexcept {
  if (!plan.notes || !plan.individual_io) return;
  const IndividualTransfers& done = plan.individual;
  const IndividualOutcome outcome = outcome_of(done);
  if (outcome == plan.individual_noted) return;
  plan.individual_noted = outcome;
  Verdict verdict = Verdict::kWithoutEffect;
  Why why;
  switch (outcome) {
    case IndividualOutcome::kNotNoted:
    case IndividualOutcome::kNoTransfer:
      why.reason = Reason::kNoCollectiveTransfer;
      break;
    case IndividualOutcome::kNotKept:
      why.reason = Reason::kHdf5KeptAnotherValue;
      break;
    case IndividualOutcome::kTakenApart:
      why.reason = Reason::kTakenApart;
      break;
    case IndividualOutcome::kUnreported:
      verdict = Verdict::kUnverifiable;
      why.reason = Reason::kIoModeUnreported;
      break;
    case IndividualOutcome::kAllCollective:
      verdict = Verdict::kApplied;
      why.reason = Reason::kStayedCollective;
      break;
    case IndividualOutcome::kInPart:
      verdict = done.collective > 0 ? Verdict::kApplied : Verdict::kUnverifiable;
      why = {done.kept < done.all ? Reason::kCollectiveAndKeptInPart : Reason::kCollectiveInPart,
             "",
             nullptr,
             {done.all, done.collective, done.taken_apart, done.all - done.kept}};
      break;
  }
  note_setting(plan.path, kIndividualIoSetting, "individual", done.kept > 0 ? "individual" : "",
               verdict, why);
}

namespace {
// A short list must not look like the whole one.
void note_further_datasets(const FilePlan& plan) noexcept {
  if (plan.notes_left >= 0) return;
  for (int i = 0; i < plan.settings.count; ++i) {
    const Setting& setting = plan.settings.settings[i];
    if (std::strcmp(setting.name, kIndividualIoSetting) == 0) continue;
    note_setting(plan.path, setting.name, "", "", Verdict::kNotListed,
                 {Reason::kFurtherDatasets, "", nullptr, {-plan.notes_left}});
    return;
  }
}
}  // namespace

bool concerns_datasets(const Decision& decision) noexcept {
  for (int i = 0; i < decision.setting_count; ++i) {
    if (is_for_datasets(setting_of(decision, i).name)) return true;
  }
  return false;
}

FilePlan* make_file_plan(const Decision& decision) noexcept {
  auto* const plan = static_cast<FilePlan*>(private_memory(sizeof(FilePlan)));
  if (plan == nullptr) return nullptr;
  std::memcpy(&plan->answer, &decision, decision.bytes);
  for (int i = 0; i < decision.setting_count; ++i) {
    const Setting setting = setting_of(plan->answer.decision, i);
    if (is_for_datasets(setting.name)) add(plan->settings, setting);
  }
  plan->notes_left = kMostNotes;
  plan->users = 1;
  return plan;
}

void discard_file_plan(FilePlan* plan) noexcept {
  if (plan != nullptr) unmap(plan, sizeof(FilePlan));
}

bool is_open_file(Provider& hdf5, std::int64_t file) noexcept {
  constexpr int kFileId = 1;  // H5I_FILE
  const Hdf5Api* const api = hdf5_api(hdf5);
  if (api == nullptr) return false;
  const QuietProbes quiet(*api);
  return api->H5Iget_type(file) == kFileId;
}

namespace {
// The file of the i-th plan of this HDF5, -1 behind the last. (HDF5 is not called under the lock.)
std::int64_t file_of_plan(std::uint32_t provider, int i) noexcept {
  const JumpSafeGuard guard(g_lock);
  for (const FilePlan* plan = g_plans; plan != nullptr; plan = plan->next) {
    if (plan->provider == provider && i-- == 0) return plan->file;
  }
  return -1;
}

void drop_plans_of_closed_files(Provider& hdf5) noexcept {
  for (int i = 0;;) {
    const std::int64_t file = file_of_plan(hdf5.number, i);
    if (file < 0) return;
    if (is_open_file(hdf5, file)) {
      ++i;
    } else {
      forget_file_plan(hdf5, file);
    }
  }
}
}  // namespace

void keep_file_plan(Provider& hdf5, std::int64_t file, FilePlan* plan) noexcept {
  drop_plans_of_closed_files(hdf5);
  FilePlan* replaced = nullptr;
  {
    const JumpSafeGuard guard(g_lock);
    take_out(hdf5.number, file, replaced);  // an id that was closed in a way that is not wrapped
    plan->provider = hdf5.number;
    plan->file = file;
    plan->next = g_plans;
    __atomic_store_n(&g_plans, plan, __ATOMIC_RELAXED);
    if (plan->individual_io) __atomic_fetch_add(&g_individual, 1, __ATOMIC_RELAXED);
  }
  discard_file_plan(replaced);
}

void forget_file_plan(const Provider& hdf5, std::int64_t file) noexcept {
  if (__atomic_load_n(&g_plans, __ATOMIC_RELAXED) == nullptr) return;
  FilePlan* freed = nullptr;
  {
    const JumpSafeGuard guard(g_lock);
    take_out(hdf5.number, file, freed);
  }
  if (freed != nullptr) {
    note_individual_io(*freed);
    note_further_datasets(*freed);
  }
  discard_file_plan(freed);
}

FilePlan* find_file_plan(Provider& hdf5, const Hdf5Api& api, std::int64_t object) noexcept {
  if (!any_file_plan() || api.H5Iget_file_id == nullptr) return nullptr;
  std::int64_t file = -1;
  {
    const QuietProbes quiet(api);
    file = api.H5Iget_file_id(object);
    if (file >= 0) api.H5Idec_ref(file);
  }
  const JumpSafeGuard guard(g_lock);
  for (FilePlan* plan = g_plans; plan != nullptr && file >= 0; plan = plan->next) {
    if (plan->file == file && plan->provider == hdf5.number) {
      ++plan->users;
      return plan;
    }
  }
  return nullptr;
}

void release(FilePlan* plan) noexcept {
  bool last = false;
  {
    const JumpSafeGuard guard(g_lock);
    last = --plan->users == 0;
  }
  if (last) discard_file_plan(plan);
}

void forget_plan_communicator(Word comm) noexcept {
  const JumpSafeGuard guard(g_lock);
  for (FilePlan* plan = g_plans; plan != nullptr; plan = plan->next) {
    if (plan->comm == comm) __atomic_store_n(&plan->comm, 0, __ATOMIC_RELAXED);
  }
}

[[gnu::hot]] bool any_file_plan() noexcept {
  return __atomic_load_n(&g_plans, __ATOMIC_RELAXED) != nullptr;
}

[[gnu::hot]] bool any_individual_io() noexcept {
  return __atomic_load_n(&g_individual, __ATOMIC_RELAXED) > 0;
}

}  // namespace iotune::tuner
