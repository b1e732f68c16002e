// Calls by which libc itself makes a child, where no wrapper of fork or vfork sees it. What is open
// may stand in the child, too, which can move its position and set its flags (descriptor_place.h).
#include "recorder/wrappers/descriptors/descriptor_place.h"
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

}  // namespace

extern "C" {

#define IOTUNE_SPAWN(name)                                                                        \
  IOTUNE_EXPORT int name(int* pid, const char* path, const void* actions, const void* traits,     \
                         char* const* arguments, char* const* variables) {                        \
    IOTUNE_REAL(int (*)(int*, const char*, const void*, const void*, char* const*, char* const*), \
                name);                                                                            \
    return with_child([=] { return real(pid, path, actions, traits, arguments, variables); });    \
  }
IOTUNE_SPAWN(posix_spawn)
IOTUNE_SPAWN(posix_spawnp)

IOTUNE_EXPORT int system(const char* command) {
  IOTUNE_REAL(int (*)(const char*), system);
  return with_child([=] { return real(command); });
}

IOTUNE_EXPORT _IO_FILE* popen(const char* command, const char* mode) {
  IOTUNE_REAL(_IO_FILE * (*)(const char*, const char*), popen);
  return with_child([=] { return real(command, mode); });
}

}  // extern "C"
