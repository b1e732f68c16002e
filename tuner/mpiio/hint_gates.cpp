#include "tuner/mpiio/hint_gates.h"

#include <cstring>

namespace iotune::tuner {
namespace {

bool is(const Setting& setting, const char* name, const char* value) noexcept {
  return std::strcmp(setting.name, name) == 0 && std::strcmp(setting.value, value) == 0;
}

bool locks_exclude(const HintGround& ground) noexcept {
  return ground.nodes <= 1 || ground.locks_hold;
}

bool named(const Setting& setting, const char* name) noexcept {
  return std::strcmp(setting.name, name) == 0;
}

bool begins(const Setting& setting, const char* prefix) noexcept {
  return std::strncmp(setting.name, prefix, std::strlen(prefix)) == 0;
}

constexpr char kThreshold[] = "romio_lustre_coll_threshold";

// The ranks' collective writes become writes of their own: strided ones are sieved, unless MPI-IO
// is set not to.
bool unjoins_writes(const Setting& setting) noexcept {
  return is(setting, "romio_cb_write", "disable") ||
         is(setting, kIndividualIoSetting, "individual") ||
         (named(setting, kThreshold) && !is(setting, kThreshold, "0"));
}

// Blocks are read, changed and written back under a lock, whatever else is set: OMPIO does so with
// strided writes of one rank, ROMIO with its persistent file realms.
bool sieves_writes(const Setting& setting) noexcept {
  return is(setting, "romio_ds_write", "enable") || is(setting, "collective_buffering", "false") ||
         (named(setting, "romio_cb_pfr") && !is(setting, "romio_cb_pfr", "disable"));
}

bool is_of_lustre(const Setting& setting) noexcept {
  return begins(setting, "romio_lustre_") || begins(setting, "cray_cb_");
}

// Ranks that are no aggregators open the file at their first independent call, if ever.
bool opens_late(const Setting& setting) noexcept {
  return is(setting, "romio_no_indep_rw", "true");
}

bool goes_with_realms(const Setting& setting) noexcept {
  return named(setting, "romio_cb_alltoall") || named(setting, "romio_cb_ds_threshold");
}

bool holds_value(const SettingList& wanted, const char* name, const char* value) noexcept {
  const char* const found = find_setting(wanted, name);
  return found != nullptr && std::strcmp(found, value) == 0;
}

constexpr const char* kJoining[] = {"romio_cb_write", "romio_cb_read"};

Reason why_not_late(const HintGround& ground, const SettingList& wanted) noexcept {
  for (const char* const name : kJoining) {
    if (holds_value(wanted, name, "disable")) {
      return Reason::kContradictsDisable;
    }
  }
  return ground.whole_path ? Reason::kNone : Reason::kWantsAWholePath;
}

// Modes other than 0 change which locks the aggregators take.
Reason why_not_locked_so(const SettingList& wanted, const Setting& setting) noexcept {
  if (!named(setting, "cray_cb_write_lock_mode") || is(setting, setting.name, "0"))
    return Reason::kNone;
  if (!holds_value(wanted, "romio_cb_write", "enable")) return Reason::kWantsCollectiveWrites;
  if (is(setting, setting.name, "1") && !holds_value(wanted, "romio_no_indep_rw", "true")) {
    return Reason::kWantsNoIndependent;
  }
  return Reason::kNone;
}

// MPICH 4.0.2's ROMIO and Open MPI 4.1.4's put bytes of collective writes that are neither joined
// nor sieved in wrong places where they choose by themselves not to join; not where a hint says
// what to do.
bool unsieves(const Setting& setting) noexcept {
  return is(setting, "romio_ds_write", "disable");
}

bool tells_whether_to_join(const SettingList& wanted) noexcept {
  const char* const joining = find_setting(wanted, "romio_cb_write");
  return joining != nullptr && std::strcmp(joining, "automatic") != 0;
}

}  // namespace

Reason why_unsafe(const HintGround& ground, const SettingList& wanted,
                  const Setting& setting) noexcept {
  if (is_of_lustre(setting) && std::strcmp(ground.file_system, "lustre") != 0) {
    return Reason::kOnLustreAlone;
  }
  if (opens_late(setting)) return why_not_late(ground, wanted);
  if (is(setting, kIndividualIoSetting, "individual") &&
      holds_value(wanted, "romio_no_indep_rw", "true")) {
    return Reason::kContradictsNoIndependent;
  }
  const bool has_realms = find_setting(wanted, "romio_cb_pfr") != nullptr &&
                          !holds_value(wanted, "romio_cb_pfr", "disable");
  if (goes_with_realms(setting) && !has_realms) {
    return Reason::kBesideFileRealmsAlone;
  }
  const Reason lock = why_not_locked_so(wanted, setting);
  if (lock != Reason::kNone) return lock;
  if (unjoins_writes(setting)) {
    if (std::strcmp(ground.file_system, "nfs") == 0) {
      return Reason::kNfsLosesBytes;
    }
    const char* const sieving = find_setting(wanted, "romio_ds_write");
    const bool sieves = sieving == nullptr || std::strcmp(sieving, "disable") != 0;
    if (sieves && !ground.sieves) {
      return Reason::kSievesLoseUpdates;
    }
    if (sieves && !locks_exclude(ground)) return Reason::kNoLocks;
  }
  if (unsieves(setting) && !tells_whether_to_join(wanted)) {
    return Reason::kWrongBytes;
  }
  if (sieves_writes(setting)) {
    if (std::strcmp(ground.file_system, "nfs") == 0) return Reason::kNfsLosesSievedBytes;
    if (!locks_exclude(ground)) return Reason::kNoLocks;
  }
  return Reason::kNone;
}

bool needs_ground(const Decision& decision) noexcept {
  for (int i = 0; i < decision.setting_count; ++i) {
    const Setting setting = setting_of(decision, i);
    if (unjoins_writes(setting) || unsieves(setting) || sieves_writes(setting) ||
        is_of_lustre(setting) || opens_late(setting) || goes_with_realms(setting)) {
      return true;
    }
  }
  return false;
}

const char* overridden_by(const Setting& setting, int index) noexcept {
  const bool overrides = opens_late(setting) && index < 2;
  return overrides ? kJoining[index] : nullptr;
}

}  // namespace iotune::tuner
