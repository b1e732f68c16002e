// The decisions as they are before the tuner fills them: everything is left alone.
#include "recorder/hooks/decisions.h"

#include "core/link/at_start.h"
#include "recorder/hooks/service.h"

namespace iotune::recorder {
namespace {

constexpr FileDecisions kLeaveFilesAlone = {
    .before_create = [](const char*, int flags) { return flags; },
    .after_create = [](int) {},
    .after_open = [](const char*, int) {},
    .before_program_open = [](const char*, int, OpenState&) {},
    .after_program_open = [](const char*, OpenState&) {},
};

}  // namespace

IOTUNE_START_DATA constinit Decisions g_decisions = {
    .files = kLeaveFilesAlone,
    .hdf5 =
        {
            .before_open = [](Provider&, const char*, Hdf5Making, std::int64_t&, OpenState&) {},
            .again_open = [](Provider&, const char*, std::int64_t, std::int64_t&,
                             OpenState&) { return false; },
            .after_open = [](Provider&, const char*, std::int64_t, OpenState&) {},
            .before_dataset = [](Provider&, DatasetCall&, OpenState&) {},
            .again_dataset = [](Provider&, std::int64_t, std::int64_t&, std::int64_t&,
                                OpenState&) { return false; },
            .after_dataset = [](Provider&, std::int64_t, OpenState&) {},
            .before_transfer = [](Provider&, std::int64_t, std::int64_t, OpenState&) {},
            .after_transfer = [](Provider&, std::int64_t, int, OpenState&) {},
            .leaves_datasets_alone = [] { return true; },
            .property = [](Provider&, CallNumber, const std::int64_t*, int) {},
            .fapl_mpio = [](Provider&, std::int64_t, Word, Word) {},
        },
    .mpiio =
        {
            .before_open = [](Provider&, Word, const char*, int, Word&, OpenState&) {},
            .again_open = [](Provider&, const char*, Word, int, Word&,
                             OpenState&) { return false; },
            .after_open = [](Provider&, const char*, Word, int, OpenState&) {},
            .before_ordered = [](Provider&, Word) {},
            .name_of_io = [](const char*) -> const char* { return nullptr; },
        },
    .own_outcomes = [] { return std::span<const std::byte>(); },
    .room_for_outcomes = [] { return std::span<std::byte>(); },
    .take_outcomes = [] {},
    .job_limit_bytes = [] { return UINT64_MAX; },
};

void leave_posix_alone() noexcept {
  for (Service* one = g_services; one != nullptr; one = one->next) {
    one->before_trace = nullptr;
    one->run_ended = nullptr;
  }
  g_decisions.files = kLeaveFilesAlone;
}

}  // namespace iotune::recorder
