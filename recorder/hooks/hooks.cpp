// The tables as they are before a room fills them: everything is left alone.
#include <cerrno>

#include "core/link/at_start.h"
#include "recorder/hooks/life_hooks.h"
#include "recorder/hooks/open_hooks.h"
#include "recorder/hooks/transfer_hooks.h"

namespace iotune::recorder {
namespace {

constexpr FileOpenHooks kLeaveFilesAlone = {
    .before_create = [](const char*, int flags) { return flags; },
    .after_create = [](int) {},
    .after_open = [](const char*, int) {},
    .before_program_open = [](const char*, int, OpenState&) {},
    .after_program_open = [](const char*, OpenState&) {},
};

}  // namespace

IOTUNE_START_DATA constinit TransferHooks g_transfer_hooks = {
    .before = [](Transfer&) {},
    .after = [](const Transfer&) {},
    .left = [](std::uint8_t) {},
    .serve_read = [](Transfer&, const void*, std::int64_t) { return kMakeTheCall; },
    .before_close = [](int, std::uint32_t) {},
    .before_change = [](int, const char*) { return std::uint32_t{0}; },
    .after_change = [](std::uint32_t) {},
    .opened = [](int, int) {},
    .before_any_close = [](int) { return std::uint32_t{0}; },
    .after_any_close = [](std::uint32_t) {},
    .mapped = [](int) {},
    .synchronised = [](int) {},
    .jumped = [] {},
    .before_mpi_init = [] {},
    .before_trace = [] {},
};

IOTUNE_START_DATA constinit LifeHooks g_life_hooks = {
    .after_mpi_init = [](Provider&) {},
    .before_mpi_finalize = [](Provider&) {},
    .run_ended = [](const char*) {},
    .own_outcomes = [] { return std::span<const std::byte>(); },
    .room_for_outcomes = [] { return std::span<std::byte>(); },
    .take_outcomes = [] {},
    .process_ends = [] {},
    .before_meeting = [] {},
    .after_meeting = [] {},
    .before_leaving = [] {},
};

IOTUNE_START_DATA constinit bool g_counts_ranks_of_opens = false;

IOTUNE_START_DATA constinit FileOpenHooks g_file_open_hooks = kLeaveFilesAlone;

IOTUNE_START_DATA constinit Hdf5Hooks g_hdf5_hooks = {
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
};

IOTUNE_START_DATA constinit MpiioHooks g_mpiio_hooks = {
    .before_open = [](Provider&, Word, const char*, int, Word&, OpenState&) {},
    .again_open = [](Provider&, const char*, Word, int, Word&, OpenState&) { return false; },
    .after_open = [](Provider&, const char*, Word, int, OpenState&) {},
    .before_ordered = [](Provider&, Word) {},
};

IOTUNE_START_DATA constinit JointHooks g_joint_hooks = {
    .opening = [] {},
    .opened = [](Provider&, Word, Word) {},
    .closing = [](Word, Word&, void*&) { return false; },
    .closed = [](Provider&, Word, void*) {},
};

void leave_posix_alone() noexcept {
  g_transfer_hooks.before_trace = [] {};
  g_life_hooks.run_ended = [](const char*) {};
  g_file_open_hooks = kLeaveFilesAlone;
}

}  // namespace iotune::recorder
