// libiotune-logstore.so, loaded by the processes that IOTUNE_LOGSTORE is set for.
#include <cstdio>

#include "core/abi/mpi_file_mark.h"
#include "core/link/at_start.h"
#include "core/link/real_function.h"
#include "core/os/short_text.h"
#include "core/process/configuration.h"
#include "core/process/privilege_drop.h"
#include "core/process/process_facts.h"
#include "core/process/thread_state.h"
#include "logstore/loader/joint_close.h"
#include "logstore/preload/library_interface.h"
#include "recorder/hooks/service.h"

namespace iotune::logstore {
namespace {

constinit LogStoreHost g_host = {};

// After the recorder's and the tuner's constructors. Logged files are files in every
// mode.
IOTUNE_START_CODE __attribute__((constructor(65530))) void install() noexcept {
  if (configuration().logstore == nullptr || configuration().is_launcher) return;
  g_host = {
      .prefixes = configuration().logstore,
      .say = say,
      .say_on_any_rank = say_on_any_rank,
      .own_code =
          [](bool enters) {
            ThreadState& thread = t_thread;
            if (enters) {
              ++thread.ours;
            } else if (thread.ours > 0) {
              --thread.ours;
            }
          },
      .in_vfork_child = in_vfork_child,
      .has_dropped_privileges = [] { return has_dropped_privileges(); },
      .mpi_call = []() -> MpiCall {
        const MpiFileMark* const mark = t_mpi_file_mark;
        if (mark == nullptr) return {};
        return {true, mark->name(), mark->ranks()};
      },
      .path_of_mpi =
          [](const char* name, char* to, std::size_t bytes) {
            ShortText<4096> path;
            absolute_path_of_mpi(name, path);
            std::snprintf(to, bytes, "%s", path.c_str());
          },
      .interpose = interpose,
      .behind = next_definition,
      .closing = {},
  };
  if (recorder::load_service({"libiotune-logstore.so", nullptr, "no file is kept as logs"},
                             &g_host)) {
    install_joint_close(g_host.closing);
  }
}

}  // namespace
}  // namespace iotune::logstore
