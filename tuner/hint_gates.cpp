#include "tuner/hint_gates.h"

#include <cstring>

namespace iotune::tuner {
namespace {

bool is(const Setting& setting, const char* name, const char* value) noexcept {
  return std::strcmp(setting.name, name) == 0 && std::strcmp(setting.value, value) == 0;
}

constexpr char kNoLocks[] =
    "sieved writes need file locks that hold between nodes, which is not known here";

bool locks_exclude(const HintGround& ground) noexcept {
  return ground.nodes <= 1 || ground.locks_hold;
}

// The ranks' collective writes become writes of their own: strided ones are sieved, unless MPI-IO
// is told not to.
bool unjoins_writes(const Setting& setting) noexcept {
  return is(setting, "romio_cb_write", "disable") ||
         is(setting, kIndividualIoSetting, "individual");
}

// MPICH 4.0.2's ROMIO and Open MPI 4.1.4's put bytes of collective writes that are neither joined
// nor sieved in wrong places where they choose by themselves not to join; not where they are told
// what to do.
bool unsieves(const Setting& setting) noexcept {
  return is(setting, "romio_ds_write", "disable");
}

bool tells_whether_to_join(const Decision& wanted) noexcept {
  const char* const joining = find_setting(wanted, "romio_cb_write");
  return joining != nullptr && std::strcmp(joining, "automatic") != 0;
}

}  // namespace

const char* why_unsafe(const HintGround& ground, const Decision& wanted,
                       const Setting& setting) noexcept {
  if (unjoins_writes(setting)) {
    if (std::strcmp(ground.file_system, "nfs") == 0) {
      return "on NFS ranks that write by themselves may lose each other's bytes";
    }
    const char* const sieving = find_setting(wanted, "romio_ds_write");
    const bool sieves = sieving == nullptr || std::strcmp(sieving, "disable") != 0;
    if (sieves && !ground.sieves) {
      return "this MPI may lose updates while it sieves writes: wants romio_ds_write=disable too";
    }
    if (sieves && !locks_exclude(ground)) return kNoLocks;
  }
  if (unsieves(setting) && !tells_whether_to_join(wanted)) {
    return "some ROMIOs write wrong bytes so: wants romio_cb_write=enable or disable too";
  }
  if (is(setting, "romio_ds_write", "enable")) {
    if (std::strcmp(ground.file_system, "nfs") == 0) return "on NFS sieved writes may lose bytes";
    if (!locks_exclude(ground)) return kNoLocks;
  }
  return nullptr;
}

bool needs_ground(const Decision& decision) noexcept {
  for (int i = 0; i < decision.count; ++i) {
    const Setting& setting = decision.settings[i];
    if (unjoins_writes(setting) || unsieves(setting) || is(setting, "romio_ds_write", "enable")) {
      return true;
    }
  }
  return false;
}

}  // namespace iotune::tuner
