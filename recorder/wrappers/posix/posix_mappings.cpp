// Wrappers of mmap, msync and munmap.
#include <cerrno>

#include "core/os/raw_syscall.h"
#include "recorder/hooks/service.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"
#include "recorder/wrappers/descriptors/file_mappings.h"
#include "recorder/wrappers/traced_call.h"
#include "recorder/wrappers/wrapper_parts.h"

namespace iotune::recorder {
namespace {

// What mmap is asked for.
struct Asked {
  void* address;
  std::size_t bytes;
  int protection, flags, fd;
  std::int64_t offset;
};

void* map_directly(const Asked& asked) noexcept {
  const long result = raw::call(SYS_mmap, raw::word(asked.address), static_cast<long>(asked.bytes),
                                asked.protection, asked.flags, asked.fd, asked.offset);
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

// While a real function is looked up an allocator may ask for memory: the look-up must not begin
// anew.
void* mapped(NextSymbol& next, const char* name, const Asked& asked) noexcept {
  if (t_thread.ours != 0) return map_directly(asked);
  auto* const real = next.find_as<void*(void*, std::size_t, int, int, int, std::int64_t)>(name);
  const auto map = [&] {
    return reinterpret_cast<std::intptr_t>(
        real(asked.address, asked.bytes, asked.protection, asked.flags, asked.fd, asked.offset));
  };
  constexpr int kShared = 0x01, kAnonymous = 0x20;  // MAP_SHARED, MAP_ANONYMOUS
  if (g_recording == kWatched && (asked.flags & (kShared | kAnonymous)) == kShared) {
    tell_services<&Service::mapped>(asked.fd);
  }
  const std::uint32_t file = (asked.flags & kAnonymous) != 0 ? 0 : file_of_descriptor(asked.fd);
  const auto result =
      traced_call<Layer::kPosix, std::intptr_t>(CallNumber::kmmap, asked.fd, file, map, asked.bytes,
                                                asked.protection, asked.flags, asked.offset);
  if (file != 0 && result != -1) {
    note_mapping(static_cast<std::uintptr_t>(result), asked.bytes, asked.fd, file);
  }
  return reinterpret_cast<void*>(result);
}

}  // namespace
}  // namespace iotune::recorder

using namespace iotune;
using namespace iotune::recorder;

extern "C" {

IOTUNE_EXPORT void* mmap(void* address, std::size_t bytes, int protection, int flags, int fd,
                         std::int64_t offset) {
  static constinit NextSymbol next;
  return mapped(next, "mmap", {address, bytes, protection, flags, fd, offset});
}
IOTUNE_EXPORT void* mmap64(void* address, std::size_t bytes, int protection, int flags, int fd,
                           std::int64_t offset) {
  static constinit NextSymbol next;
  return mapped(next, "mmap64", {address, bytes, protection, flags, fd, offset});
}

IOTUNE_EXPORT int msync(void* address, std::size_t bytes, int flags) {
  static constinit NextSymbol next;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const FileMapping mapping = mapping_at(at);
  return traced_call<Layer::kPosix, int>(CallNumber::kmsync, mapping.fd, mapping.file,
                                         next.prepare<int>("msync", address, bytes, flags), at,
                                         bytes, flags);
}

IOTUNE_EXPORT int munmap(void* address, std::size_t bytes) {
  static constinit NextSymbol next;
  if (t_thread.ours != 0) return unmap_directly(address, bytes);
  const auto real = next.prepare<int>("munmap", address, bytes);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const FileMapping mapping = mapping_at(at);
  if (mapping.file != 0) forget_mapping(at, bytes);
  return traced_call<Layer::kPosix, int>(CallNumber::kmunmap, mapping.fd, mapping.file, real, at,
                                         bytes);
}

}  // extern "C"
