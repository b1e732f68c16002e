#include "tuner/posix/posix_opens.h"

#include <cstring>

namespace iotune::tuner {

void clear(PosixOpens& opens) noexcept {
  opens.places = opens.advises = false;
}

void arm(const char* path, FileMaking making, const Decision& decision, const SettingList& wanted,
         PosixOpens& opens) noexcept {
  clear(opens);
  if (std::strlen(path) >= sizeof opens.path) return;
  std::strncpy(opens.path, path, sizeof opens.path);
  opens.places =
      arm_placement(opens.path, making.creating, making.by_each_rank, wanted, opens.placement);
  const bool anew = making.creating && (making.emptying || !is_there(path));
  opens.advises = arm_posix_advice(opens.path, anew, decision, wanted, opens.advice);
}

void disarm(const PosixOpens& opens) noexcept {
  if (opens.places) disarm_placement();
  if (opens.advises) disarm_posix_advice();
}

void finish_and_note(const PosixOpens& opens, const SettingList& wanted) noexcept {
  if (opens.places) note_placement(opens.placement, wanted);
  if (opens.advises) reserve_and_note(opens.advice, wanted);
}

}  // namespace iotune::tuner
