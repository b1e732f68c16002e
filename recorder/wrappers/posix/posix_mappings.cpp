// Wrappers of mmap, msync and munmap.
#include <cerrno>

#include "core/os/raw_syscall.h"
#include "recorder/hooks/transfer_hooks.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"
#include "recorder/wrappers/descriptors/file_mappings.h"
#include "recorder/wrappers/traced_call.h"
#include "recorder/wrappers/wrapper_parts.h"

namespace iotune::recorder {
namespace {

void* map_directly(void* address, std::size_t bytes, int protection, int flags, int fd,
                   std::int64_t offset) noexcept {
  const long result = raw::call(SYS_mmap, raw::word(address), static_cast<long>(bytes), protection,
                                flags, fd, offset);
  if (result < 0 && result > -4096) {
    errno = static_cast<int>(-result);
    return reinterpret_cast<void*>(std::intptr_t{-1});
  }
  return reinterpret_cast<void*>(result);
}
int unmap_directly(void* address, std::size_t bytes) noexcept {
  const long result = raw::call(SYS_munmap, raw::word(address), static_cast<long>(bytes));
  if (result == 0) return 0;
  errno = static_cast<int>(-result);
  return -1;
}

}  // namespace
}  // namespace iotune::recorder

using namespace iotune;
using namespace iotune::recorder;

extern "C" {

// While a real function is looked up an allocator may ask for memory: the lookup must not begin
// anew.
#define IOTUNE_MMAP(name)                                                                       \
  IOTUNE_EXPORT void* name(void* address, std::size_t bytes, int protection, int flags, int fd, \
                           std::int64_t offset) {                                               \
    if (t_thread.ours != 0) {                                                                   \
      return map_directly(address, bytes, protection, flags, fd, offset);                       \
    }                                                                                           \
    static constinit NextSymbol symbol;                                                         \
    auto* const real =                                                                          \
        reinterpret_cast<void* (*)(void*, std::size_t, int, int, int, std::int64_t)>(           \
            symbol.find(#name));                                                                \
    constexpr int kShared = 0x01, kAnonymous = 0x20; /* MAP_SHARED, MAP_ANONYMOUS */            \
    if (g_recording == kWatched && (flags & (kShared | kAnonymous)) == kShared) {               \
      g_transfer_hooks.mapped(fd);                                                              \
    }                                                                                           \
    const std::uint32_t file = (flags & kAnonymous) != 0 ? 0 : file_of_descriptor(fd);          \
    if (file == 0) return real(address, bytes, protection, flags, fd, offset);                  \
    const auto result = traced_call<Layer::kPosix, std::intptr_t>(                              \
        CallNumber::kmmap, fd, file,                                                            \
        [=] {                                                                                   \
          return reinterpret_cast<std::intptr_t>(                                               \
              real(address, bytes, protection, flags, fd, offset));                             \
        },                                                                                      \
        bytes, protection, flags, offset);                                                      \
    if (result != -1) note_mapping(static_cast<std::uintptr_t>(result), bytes, fd, file);       \
    return reinterpret_cast<void*>(result);                                                     \
  }
IOTUNE_MMAP(mmap)
IOTUNE_MMAP(mmap64)

IOTUNE_EXPORT int msync(void* address, std::size_t bytes, int flags) {
  IOTUNE_REAL(int (*)(void*, std::size_t, int), msync);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const FileMapping mapping = mapping_at(at);
  return traced_call<Layer::kPosix, int>(
      CallNumber::kmsync, mapping.fd, mapping.file, [=] { return real(address, bytes, flags); }, at,
      bytes, flags);
}

IOTUNE_EXPORT int munmap(void* address, std::size_t bytes) {
  if (t_thread.ours != 0) return unmap_directly(address, bytes);
  IOTUNE_REAL(int (*)(void*, std::size_t), munmap);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const FileMapping mapping = mapping_at(at);
  if (mapping.file != 0) forget_mapping(at, bytes);
  return traced_call<Layer::kPosix, int>(
      CallNumber::kmunmap, mapping.fd, mapping.file, [=] { return real(address, bytes); }, at,
      bytes);
}

}  // extern "C"
