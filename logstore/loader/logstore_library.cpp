#include "logstore/loader/logstore_library.h"

#include <dlfcn.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/abi/mpi_file_mark.h"
#include "core/link/loader_calls.h"
#include "core/link/real_function.h"
#include "core/os/short_text.h"
#include "core/process/configuration.h"
#include "core/process/privilege_drop.h"
#include "core/process/process_facts.h"
#include "core/process/thread_state.h"
#include "logstore/loader/joint_close.h"
#include "logstore/preload/library_interface.h"
#include "recorder/hooks/life_hooks.h"
#include "recorder/hooks/open_hooks.h"
#include "recorder/hooks/transfer_hooks.h"

namespace iotune::logstore {
namespace {

constinit LogStoreHost g_host = {};
constinit LogStoreHooks g_hooks = {};
constinit recorder::FileOpenHooks g_opens = {};
constinit recorder::TransferHooks g_transfers = {};

// Beside this library. RTLD_LOCAL: it has nothing for the program.
decltype(&iotune_logstore_install) load() noexcept {
  const char* const own = own_library_path();
  const char* const slash = std::strrchr(own, '/');
  ShortText<4096> path;
  if (slash != nullptr) path.add(own, static_cast<std::size_t>(slash - own + 1));
  path << "libiotune-logstore.so";
  void* const handle =
      slash == nullptr || path.cut() ? nullptr : loader_open(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const found =
      handle == nullptr ? nullptr : loader_symbol(handle, "iotune_logstore_install");
  if (found == nullptr) {
    ShortText<4608> text;
    text << path.c_str() << " cannot be loaded: no file is kept as logs";
    say(text.c_str());
  }
  return reinterpret_cast<decltype(&iotune_logstore_install)>(found);
}

// What the program itself opens is never logged: those two hooks stay as they are.
void guard_opens() noexcept {
  g_opens = recorder::g_file_open_hooks;
  recorder::g_file_open_hooks.before_create = [](const char* path, int flags) {
    return g_hooks.takes(path) ? flags : g_opens.before_create(path, flags);
  };
  recorder::g_file_open_hooks.after_create = [](int fd) {
    if (!g_hooks.is_logged(fd)) g_opens.after_create(fd);
  };
  recorder::g_file_open_hooks.after_open = [](const char* path, int fd) {
    if (!g_hooks.is_logged(fd)) g_opens.after_open(path, fd);
  };
}

// What is read ahead on a logged file's descriptor would be the handle's bytes.
void guard_transfers() noexcept {
  if (g_recording != kWatched) return;
  g_transfers = recorder::g_transfer_hooks;
  recorder::TransferHooks& hooks = recorder::g_transfer_hooks;
  hooks.before = [](recorder::Transfer& transfer) {
    if (!g_hooks.is_logged(transfer.fd)) g_transfers.before(transfer);
  };
  hooks.after = [](const recorder::Transfer& transfer) {
    if (!g_hooks.is_logged(transfer.fd)) g_transfers.after(transfer);
  };
  hooks.serve_read = [](recorder::Transfer& transfer, const void* memory, std::int64_t parts) {
    return g_hooks.is_logged(transfer.fd) ? recorder::kMakeTheCall
                                          : g_transfers.serve_read(transfer, memory, parts);
  };
  hooks.opened = [](int fd, int flags) {
    if (!g_hooks.is_logged(fd)) g_transfers.opened(fd, flags);
  };
}

void put_together(decltype(&iotune_logstore_install) install) noexcept {
  g_host = {
      .version = kLogStoreInterfaceVersion,
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
  };
  if (!install(&g_host, &g_hooks)) return;
  recorder::g_counts_ranks_of_opens = true;
  install_joint_close(g_hooks.closing);
  guard_opens();
  guard_transfers();
  recorder::LifeHooks& life = recorder::g_life_hooks;
  life.before_meeting = g_hooks.before_meeting;
  life.after_meeting = g_hooks.after_meeting;
  life.before_leaving = g_hooks.before_leaving;
}

}  // namespace

void install_log_store() noexcept {
  const Configuration& said = configuration();
  if (said.logstore == nullptr || said.is_launcher) return;
  const OwnCode own;
  const int kept = errno;
  const auto install = load();
  if (install != nullptr) put_together(install);
  errno = kept;
}

}  // namespace iotune::logstore
