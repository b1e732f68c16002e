// Memory that tells a copy of it: the kernel wipes marked pages in the child of a fork, no matter
// who made that (fork, _Fork, clone), and leaves them to a child that shares them (vfork).
#pragma once

#include <cstddef>

namespace iotune {

// Whole pages of private memory.
void wipe_on_fork(void* memory, std::size_t bytes) noexcept;

// Makes the mark, at the first record of a process; nothing where it exists.
void mark_memory() noexcept;

// Calls `adopt` where this memory is a copy whose mark was wiped and makes the mark anew: once,
// however many threads ask. False where it is not, or never was marked.
bool adopt_copied_memory(void (*adopt)()) noexcept;

// Whether this memory is a copy whose mark was wiped. Makes no system call.
bool is_copied_memory() noexcept;

// For those who know that they are a copy.
void mark_memory_after_fork() noexcept;

}  // namespace iotune
