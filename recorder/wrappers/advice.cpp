#include "recorder/wrappers/advice.h"

#include <cerrno>

#include "core/link/at_start.h"

namespace iotune::recorder {

IOTUNE_START_DATA constinit Advice g_advice = {
    .before_transfer = [](Transfer&) {},
    .after_transfer = [](const Transfer&) {},
    .left_transfer = [](std::uint8_t) {},
    .serve_read = [](Transfer&, const void*, std::int64_t) { return kMakeTheCall; },
    .before_close = [](int, std::uint32_t) {},
    .before_change = [](int, const char*) { return std::uint32_t{0}; },
    .after_change = [](std::uint32_t) {},
    .opened = [](int, int) {},
    .before_any_close = [](int) { return std::uint32_t{0}; },
    .after_any_close = [](std::uint32_t) {},
    .mapped = [](int) {},
    .synchronised = [](int) {},
    .slice_transfer = [](const Transfer&) { return std::int64_t{-ENOTSUP}; },
    .slice_seek = [](int, std::uint32_t, std::int64_t, int) { return std::int64_t{-ENOTSUP}; },
    .jumped = [] {},
    .before_trace = [] {},
    .before_mpi_init = [] {},
    .after_mpi_init = [](Provider&) {},
    .before_mpi_finalize = [](Provider&) {},
    .after_fork = [] {},
    .run_ended = [](const char*) {},
    .before_create = [](const char*, int flags) { return flags; },
    .after_create = [](int) {},
    .after_open = [](const char*, int) {},
    .before_program_open = [](const char*, int, OpenState&) {},
    .after_program_open = [](const char*, OpenState&) {},
    .before_hdf5_open = [](Provider&, const char*, Hdf5Making, std::int64_t&, OpenState&) {},
    .again_hdf5_open = [](Provider&, const char*, std::int64_t, std::int64_t&,
                          OpenState&) { return false; },
    .after_hdf5_open = [](Provider&, const char*, std::int64_t, OpenState&) {},
    .before_hdf5_dataset = [](Provider&, DatasetCall&, OpenState&) {},
    .again_hdf5_dataset = [](Provider&, std::int64_t, std::int64_t&, std::int64_t&,
                             OpenState&) { return false; },
    .after_hdf5_dataset = [](Provider&, std::int64_t, OpenState&) {},
    .before_hdf5_transfer = [](Provider&, std::int64_t, std::int64_t, OpenState&) {},
    .after_hdf5_transfer = [](Provider&, std::int64_t, int, OpenState&) {},
    .leaves_datasets_alone = [] { return true; },
    .hdf5_property = [](Provider&, CallNumber, const std::int64_t*, int) {},
    .hdf5_fapl_mpio = [](Provider&, std::int64_t, Word, Word) {},
    .before_mpiio_open = [](Provider&, Word, const char*, int, Word&, OpenState&) {},
    .again_mpiio_open = [](Provider&, const char*, Word, int, Word&, OpenState&) { return false; },
    .after_mpiio_open = [](Provider&, const char*, Word, int, OpenState&) {},
    .before_ordered = [](Provider&, Word) {},
};

void leave_posix_alone() noexcept {
  g_advice.before_trace = [] {};
  g_advice.run_ended = [](const char*) {};
  g_advice.before_create = [](const char*, int flags) { return flags; };
  g_advice.after_create = [](int) {};
  g_advice.after_open = [](const char*, int) {};
  g_advice.before_program_open = [](const char*, int, OpenState&) {};
  g_advice.after_program_open = [](const char*, OpenState&) {};
}

}  // namespace iotune::recorder
