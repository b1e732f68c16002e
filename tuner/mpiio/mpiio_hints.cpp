#include "tuner/mpiio/mpiio_hints.h"

#include <cstring>

#include "core/os/short_text.h"
#include "core/process/configuration.h"
#include "patterndb/settings/parameters.h"
#include "recorder/hooks/decisions.h"
#include "tuner/decision/outcome_notes.h"
#include "tuner/decision/program_settings.h"
#include "tuner/mpiio/hint_gates.h"
#include "tuner/mpiio/openmpi_io.h"
#include "tuner/posix/file_system.h"
#include "tuner/posix/placement.h"
#include "tuner/posix/posix_advice.h"

namespace iotune::tuner {
namespace {

constexpr int kMaxInfoValue = 1024;

bool is_null(const MpiApi& mpi, Word info) noexcept {
  return ((info ^ mpi.constants.info_null) & mpi.constants.handle_mask) == 0;
}

bool program_set(const MpiApi& mpi, Word info, const char* name) noexcept {
  if (info == 0 || is_null(mpi, info)) return false;
  char value[kMaxInfoValue + 1];
  return read_info(mpi, info, name, value, sizeof value);
}

// Read by gather/, which leaves a record of what it did with the file's writes.
bool is_gathering(const char* name) noexcept {
  return std::strcmp(name, "iotune_gather_writes") == 0;
}

Reason why_not_named(const MpiApi& mpi, Word info, const Decision& decision,
                     const char* name) noexcept {
  if (program_set(mpi, info, name)) return Reason::kProgramSetIt;
  if (user_hints_name(name) || parameters_name(decision.own_parameters, name))
    return Reason::kUserSetIt;
  return Reason::kNone;
}

Reason why_not(const MpiApi& mpi, Word info, const Decision& decision,
               const Setting& setting) noexcept {
  if (is_gathering(setting.name) && configuration().gather == nullptr) {
    return Reason::kGatheringNotAllowed;
  }
  Reason reason = why_not_named(mpi, info, decision, setting.name);
  for (int i = 0; reason == Reason::kNone; ++i) {
    const char* const other = overridden_by(setting, i);
    if (other == nullptr) break;
    if (why_not_named(mpi, info, decision, other) != Reason::kNone) {
      reason = Reason::kOverridesAnother;
    }
  }
  return reason;
}

}  // namespace

bool is_beneath_hdf5(const char* name) noexcept {
  return goes_by_info(name) || is_placement(name) || is_posix_advice(name);
}

bool goes_by_info(const char* name) noexcept {
  const Parameter* const parameter = find_parameter(name);
  return parameter != nullptr && parameter->layer == ParameterLayer::kMpiioHint;
}

namespace {
// The hints that are left stay a whole: what was refused first counts for what comes after.
void pass_gates(const char* path, const Decision& decision, OpenedFrom from,
                HintPlan& plan) noexcept {
  if (!needs_ground(decision)) return;
  const char* const system = file_system_of(path);
  const HintGround ground{decision.sieves != 0, system, from.nodes,
                          from.nodes > 1 && locks_hold_between_nodes(path, system),
                          !from.named_relatively};
  for (int i = 0; i < plan.wanted.count;) {
    Setting& setting = plan.wanted.settings[i];
    const Reason unsafe = why_unsafe(ground, plan.wanted, setting);
    if (unsafe == Reason::kNone) {
      ++i;
      continue;
    }
    for (int j = 0; j < decision.setting_count; ++j) {
      if (std::strcmp(setting_of(decision, j).name, setting.name) == 0) plan.refused[j] = unsafe;
    }
    setting = plan.wanted.settings[--plan.wanted.count];
    i = 0;
  }
  for (int i = 0; i < decision.setting_count; ++i) {
    const Setting setting = setting_of(decision, i);
    if (std::strcmp(setting.name, kIndividualIoSetting) != 0) continue;
    plan.refused[i] = why_unsafe(ground, plan.wanted, setting);
    plan.individual_io =
        plan.refused[i] == Reason::kNone && std::strcmp(setting.value, "individual") == 0;
  }
}
}  // namespace

void clear(HintPlan& plan) noexcept {
  clear(plan.wanted);
  static_assert(static_cast<int>(Reason::kNone) == 0);
  std::memset(plan.refused, 0, sizeof plan.refused);
  plan.words = "";
  plan.individual_io = false;
}

void plan_hints(const MpiApi& mpi, const char* path, Word info, const Decision& decision,
                OpenedFrom from, HintPlan& plan) noexcept {
  clear(plan);
  for (int i = 0; i < decision.setting_count; ++i) {
    const Setting setting = setting_of(decision, i);
    if (!is_beneath_hdf5(setting.name)) continue;
    plan.refused[i] = why_not(mpi, info, decision, setting);
    if (plan.refused[i] == Reason::kNone) add(plan.wanted, {setting.name, setting.value, ""});
  }
  pass_gates(path, decision, from, plan);
  const char* const aggregators = find_setting(plan.wanted, "cb_nodes");
  if (aggregators == nullptr || find_setting(plan.wanted, "cb_config_list") != nullptr ||
      why_not_named(mpi, info, decision, "cb_config_list") != Reason::kNone) {
    return;
  }
  const std::uint64_t count = parse_decimal(aggregators);
  const auto hosts = static_cast<std::uint64_t>(from.nodes < 1 ? 1 : from.nodes);
  ShortText<sizeof plan.config_list> list;
  list << "*:" << (count + hosts - 1) / hosts;
  std::memcpy(plan.config_list, list.c_str(), list.size() + 1);
  add(plan.wanted, {"cb_config_list", plan.config_list, ""});
}

bool has_hints_for_mpiio(const HintPlan& plan) noexcept {
  for (int i = 0; i < plan.wanted.count; ++i) {
    if (goes_by_info(plan.wanted.settings[i].name)) return true;
  }
  return false;
}

namespace {
void remove(HintPlan& plan, const char* name) noexcept {
  for (int i = 0; i < plan.wanted.count; ++i) {
    if (std::strcmp(plan.wanted.settings[i].name, name) != 0) continue;
    plan.wanted.settings[i] = plan.wanted.settings[--plan.wanted.count];
    return;
  }
}
}  // namespace

void add_hints(const Decision& decision, const HintPlan& plan, CallAttempts& attempts) noexcept {
  for (int i = 0; i < decision.setting_count; ++i) {
    const char* const name = setting_of(decision, i).name;
    if (goes_by_info(name) && find_setting(plan.wanted, name) != nullptr) {
      add_candidate(attempts, i);
    }
  }
}

namespace {
// The first stays only beside the second, where the decision has both (hint_gates.cpp).
constexpr struct {
  const char *name, *beside;
} kBeside[] = {
    {"romio_ds_write", "romio_cb_write"},
    {"romio_lustre_coll_threshold", "romio_ds_write"},
    {"cray_cb_write_lock_mode", "romio_cb_write"},
    {"cray_cb_write_lock_mode", "romio_no_indep_rw"},
};

// The decision's number of settings where it has none of that name.
int index_of(const Decision& decision, const char* name) noexcept {
  int i = 0;
  while (i < decision.setting_count && std::strcmp(setting_of(decision, i).name, name) != 0) ++i;
  return i;
}

// By itself, or with what it stays beside.
bool goes_without(const Decision& decision, const CallAttempts& attempts, int index) noexcept {
  if (is_left_out(attempts, index)) return true;
  for (const auto& one : kBeside) {
    if (std::strcmp(setting_of(decision, index).name, one.name) != 0) continue;
    const int other = index_of(decision, one.beside);
    if (other < decision.setting_count && goes_without(decision, attempts, other)) return true;
  }
  return false;
}
}  // namespace

void leave_out_hints(const Decision& decision, const CallAttempts& attempts,
                     HintPlan& plan) noexcept {
  plan.words = attempts.words.c_str();
  for (int i = 0; i < decision.setting_count; ++i) {
    const char* const name = setting_of(decision, i).name;
    if (!goes_by_info(name) || !goes_without(decision, attempts, i)) continue;
    if (plan.refused[i] == Reason::kNone) plan.refused[i] = Reason::kCallFailed;
    remove(plan, name);
    if (std::strcmp(name, "cb_nodes") == 0 &&
        index_of(decision, "cb_config_list") == decision.setting_count) {
      remove(plan, "cb_config_list");
    }
  }
}

namespace {
bool goes_without(const Decision& decision, const CallAttempts& attempts,
                  const char* name) noexcept {
  const int index = index_of(decision, name);
  if (index < decision.setting_count) return goes_without(decision, attempts, index);
  // Not of the decision: cb_nodes has brought it.
  return std::strcmp(name, "cb_config_list") == 0 && goes_without(decision, attempts, "cb_nodes");
}
}  // namespace

Word make_info(const MpiApi& mpi, Word info, const HintPlan& plan, const Decision& decision,
               const CallAttempts& attempts) noexcept {
  Word made = 0;
  const bool has_program_hints = info != 0 && !is_null(mpi, info);
  const int result = has_program_hints ? mpi.MPI_Info_dup(info, &made) : mpi.MPI_Info_create(&made);
  if (result != 0) return 0;
  for (int i = 0; i < plan.wanted.count; ++i) {
    const Setting& setting = plan.wanted.settings[i];
    if (!goes_by_info(setting.name)) continue;  // placement.h: one way for every MPI-IO
    if (goes_without(decision, attempts, setting.name)) continue;
    if (mpi.MPI_Info_set(made, setting.name, setting.value) != 0) {
      mpi.MPI_Info_free(&made);
      return 0;
    }
  }
  return made;
}

std::uint64_t hash_hints(std::uint64_t hash, const HintPlan& plan) noexcept {
  for (int i = 0; i < plan.wanted.count; ++i) {
    hash = hash_text(hash_text(hash, plan.wanted.settings[i].name), plan.wanted.settings[i].value);
  }
  if (plan.individual_io) hash = hash_text(hash, kIndividualIoSetting);
  return hash;
}

void excuse_hints(HintPlan& plan) noexcept {
  for (Reason& refused : plan.refused) {
    if (refused == Reason::kCallFailed) refused = Reason::kProgramsCallFailed;
  }
}

void drop_hints(const Decision& decision, Reason reason, HintPlan& plan) noexcept {
  for (int i = 0; i < decision.setting_count; ++i) {
    if (plan.refused[i] == Reason::kNone && is_beneath_hdf5(setting_of(decision, i).name))
      plan.refused[i] = reason;
  }
  plan.wanted.count = 0;
}

void note_hints(const MpiApi& mpi, Word file, const char* path, const Decision& decision,
                const HintPlan& plan) noexcept {
  if (decision.setting_count == 0) return;
  Word info = 0;
  const OpenMpiIo open_mpi = mpi.abi == MpiAbi::kOpenMpi && plan.wanted.count > 0
                                 ? openmpi_io(mpi, path)
                                 : OpenMpiIo::kUnknown;
  const bool readable = file != 0 && mpi.MPI_File_get_info(file, &info) == 0;
  char got[kMaxInfoValue + 1] = "";
  for (int i = 0; i < decision.setting_count; ++i) {
    const Setting setting = setting_of(decision, i);
    if (plan.refused[i] == Reason::kNone) continue;
    if (readable && !read_info(mpi, info, setting.name, got, sizeof got)) got[0] = '\0';
    const char* const words = plan.refused[i] == Reason::kCallFailed ? plan.words : "";
    note_setting(path, setting.name, setting.value, got, Verdict::kRefused,
                 {plan.refused[i], words});
  }
  for (int i = 0; i < plan.wanted.count; ++i) {
    const Setting& setting = plan.wanted.settings[i];
    if (!goes_by_info(setting.name)) continue;
    const bool found = readable && read_info(mpi, info, setting.name, got, sizeof got);
    if (is_gathering(setting.name)) {
      note_setting(path, setting.name, setting.value, "", Verdict::kUnverifiable,
                   {Reason::kGatheringIsRecorded});
    } else if (!readable) {
      note_setting(path, setting.name, setting.value, "", Verdict::kUnverifiable,
                   {Reason::kHintsUnreadable});
    } else if (open_mpi == OpenMpiIo::kOmpio && !ompio_reads(setting.name)) {
      note_setting(path, setting.name, setting.value, "", Verdict::kWithoutEffect,
                   {Reason::kOmpioIgnoresIt});
    } else if (open_mpi == OpenMpiIo::kRomio && !romio_gets_hints(mpi.version)) {
      note_setting(path, setting.name, setting.value, "", Verdict::kWithoutEffect,
                   {Reason::kRomioGetsNoHints});
    } else if (open_mpi == OpenMpiIo::kRomio) {
      note_setting(path, setting.name, setting.value, got, Verdict::kUnverifiable,
                   {Reason::kRomioUnreported});
    } else if (!found) {
      note_setting(path, setting.name, setting.value, "", Verdict::kWithoutEffect,
                   {Reason::kMpiIoDoesNotKnowIt});
    } else if (std::strcmp(got, setting.value) != 0) {
      note_setting(path, setting.name, setting.value, got, Verdict::kWithoutEffect,
                   {Reason::kMpiIoChoseAnother});
    } else if (mpi.abi == MpiAbi::kOpenMpi && !reports_hints_in_use(mpi.version)) {
      // Version 4 echoes every key, even nonsense; 5 those that some component has asked for.
      note_setting(path, setting.name, setting.value, got, Verdict::kUnverifiable,
                   {Reason::kOpenMpiEchoes});
    } else {
      note_setting(path, setting.name, setting.value, got, Verdict::kApplied, {});
    }
  }
  if (readable) mpi.MPI_Info_free(&info);
}

}  // namespace iotune::tuner
