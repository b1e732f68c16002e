// Memory of the preload's own, without libc's allocator. Inline: what a library of its own carries
// needs it as well.
#pragma once

#include <sys/mman.h>

#include <cstddef>

#include "core/os/raw_syscall.h"
#include "core/process/privilege_drop.h"

namespace iotune {

// ThreadSanitizer sees libc's calls only: of raw ones it takes memory at an address that was used
// before for the same memory.
inline void unmap(void* memory, std::size_t bytes) noexcept {
  if (has_dropped_privileges()) return;
#if defined(__SANITIZE_THREAD__)
  munmap(memory, bytes);
#else
  raw::call(SYS_munmap, raw::word(memory), raw::word(bytes));
#endif
}

// Takes the right to write from whole pages, or gives it back. They stay where pages are larger.
// False where the kernel refuses (a filter, a sealed mapping).
inline bool protect_pages(void* first, std::size_t bytes, bool protects) noexcept {
  return raw::call(SYS_mprotect, raw::word(first), raw::word(bytes),
                   protects ? PROT_READ : PROT_READ | PROT_WRITE) == 0;
}

// The same pages in a child of fork, and no part of what RLIMIT_DATA bounds: for what a child
// forgets.
inline void* shared_memory(std::size_t bytes) noexcept {
  if (has_dropped_privileges()) return nullptr;
  return raw::mmap(bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

// Zeroed; nullptr where there is none, or none may be asked for.
inline void* private_memory(std::size_t bytes) noexcept {
  if (has_dropped_privileges()) return nullptr;
#if defined(__SANITIZE_THREAD__)
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
#else
  return raw::mmap(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#endif
}

}  // namespace iotune
