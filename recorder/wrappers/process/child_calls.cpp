// Calls by which libc itself makes a child, where no wrapper of fork or vfork sees it. What is open
// may stand in the child, too, which can move its position and set its flags (descriptor_place.h).
// And the call by which pools end their children.
#include <sched.h>

#include <csignal>
#include <cstdarg>

#include "core/process/thread_state.h"
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

// Whether thread-local variables can be reached there. The x86-64 ABI has the block's address in
// its first word. A sandbox may give a child a block of zeros or anything (Chromium's and Firefox's
// do), with which libc's own calls get along, for they form no address in it.
bool is_thread_block(const void* tls) noexcept {
#if defined(__x86_64__)
  return tls != nullptr && *static_cast<void* const*>(tls) == tls;
#else
  return true;
#endif
}

// The flags for a child whose calls must find variables of a thread. Where it has the parent's
// memory while the parent sleeps, or a copy of it, those of the parent's thread are there: the
// block that can hold none is left out.
int with_thread_block(int flags, const void* tls) noexcept {
  const bool parent_runs = (flags & CLONE_VM) != 0 && (flags & CLONE_VFORK) == 0;
  const bool is_child = (flags & CLONE_SETTLS) != 0 && (flags & CLONE_THREAD) == 0;
  return is_child && !parent_runs && !is_thread_block(tls) ? flags & ~CLONE_SETTLS : flags;
}

}  // namespace

extern "C" {

IOTUNE_EXPORT int clone(int (*start)(void*), void* stack, int flags, void* argument, ...) {
  static constinit NextSymbol next;
  // Where they were not passed, these are other words that the kernel does not look at.
  va_list more;
  va_start(more, argument);
  void* const parent_id = va_arg(more, void*);
  void* const tls = va_arg(more, void*);
  void* const child_id = va_arg(more, void*);
  va_end(more);
  const int used = with_thread_block(flags, tls);
  const auto real =
      next.prepare<int>("clone", start, stack, used, argument, parent_id, tls, child_id);
  constexpr int kAsVfork = CLONE_VM | CLONE_VFORK;
  if ((flags & CLONE_THREAD) != 0 || (flags & kAsVfork) == CLONE_VM) return real();
  if ((flags & kAsVfork) != kAsVfork) return with_child(real);
  const OwnCode unseen;  // in the child, as vfork_wrapper.cpp has it
  return with_child(real);
}

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
