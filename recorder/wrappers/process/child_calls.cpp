// Calls by which libc itself makes a child, where no wrapper of fork or vfork sees it. What is open
// may stand in the child, too, which can move its position and set its flags (descriptor_place.h).
// And the call by which pools end their children.
#include <csignal>

#include "recorder/gather/run_buffers.h"
#include "recorder/wrappers/descriptors/descriptor_place.h"
#include "recorder/wrappers/process/child_order.h"
#include "recorder/wrappers/wrapper_parts.h"

struct _IO_FILE;

using namespace iotune;
using namespace iotune::recorder;

namespace {

// Before the call, and after it for what another thread has opened meanwhile.
template <typename Call>
auto with_child(Call call) noexcept {
  g_copies.fetch_add(1, std::memory_order_relaxed);
  const auto result = call();
  g_copies.fetch_add(1, std::memory_order_relaxed);
  return result;
}

// `call` is given where the child's number is put.
template <typename Call>
int spawned(int* pid, Call call) noexcept {
  if (!orders_children()) return call(pid);
  CallScope scope{CallScope::OfOrder{}};
  if (!scope.active()) return call(pid);
  int own = 0;
  int* const put = pid == nullptr ? &own : pid;
  scope.start();
  const int result = call(put);
  scope.stop();
  if (result == 0) record_child(scope, CallNumber::kposix_spawn, {0, std::int64_t{*put}});
  return result;
}

}  // namespace

extern "C" {

IOTUNE_EXPORT int posix_spawn(int* pid, const char* path, const void* actions, const void* traits,
                              char* const* arguments, char* const* variables) {
  static constinit NextSymbol next;
  return spawned(pid, [&](int* put) {
    return with_child(
        next.prepare<int>("posix_spawn", put, path, actions, traits, arguments, variables));
  });
}
IOTUNE_EXPORT int posix_spawnp(int* pid, const char* path, const void* actions, const void* traits,
                               char* const* arguments, char* const* variables) {
  static constinit NextSymbol next;
  return spawned(pid, [&](int* put) {
    return with_child(
        next.prepare<int>("posix_spawnp", put, path, actions, traits, arguments, variables));
  });
}

IOTUNE_EXPORT int system(const char* command) {
  static constinit NextSymbol next;
  return with_child(next.prepare<int>("system", command));
}

IOTUNE_EXPORT _IO_FILE* popen(const char* command, const char* mode) {
  static constinit NextSymbol next;
  return with_child(next.prepare<_IO_FILE*>("popen", command, mode));
}

IOTUNE_EXPORT int kill(int pid, int signal) {
  static constinit NextSymbol next;
  const auto real = next.prepare<int>("kill", pid, signal);
  if (!real.exists()) return no_such_call();
  if (signal == SIGTERM) note_terminated(pid);
  return real();
}

}  // extern "C"
