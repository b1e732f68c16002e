#include "prefetch/preload/schedules.h"

#include <cstring>

#include "prefetch/baselines/pre_execution.h"
#include "prefetch/preload/program_transfers.h"

namespace iotune::prefetch {
namespace {

// Hints, as soon as they are known.
constexpr Schedule kNone{.name = "none"};
// Hints, several under way; none begins while the program waits for what was not predicted.
constexpr Schedule kOurs{.name = "ours",
                         .wait_for_turn = wait_for_program,
                         .passes_predicted = true,
                         .has_budget = true};

constexpr const Schedule* kSchedules[] = {&kNone, &kPp, &kPpis, &kOurs};

}  // namespace

std::span<const Schedule* const> schedules() noexcept {
  return kSchedules;
}

const Schedule* schedule_named(const char* name) noexcept {
  for (const Schedule* const schedule : kSchedules) {
    if (std::strcmp(schedule->name, name) == 0) return schedule;
  }
  return nullptr;
}

}  // namespace iotune::prefetch
