// Pre-execution: the program's own slice of I/O (include/iotune.h), run ahead of it. Its calls come
// here instead of to the kernel.
#pragma once

#include <atomic>
#include <cstdint>

#include "prefetch/preload/library_interface.h"
#include "prefetch/preload/schedules.h"
#include "recorder/hooks/service.h"

namespace iotune::prefetch {

void set_up_slices(const PrefetchHost& host, const Schedule& schedule) noexcept;

// As iotune_preexecute: 0 or an errno value.
int start_slice(void (*slice)(void*), void* argument) noexcept;

// A slice's read or write; offset -1: at the descriptor's position.
struct SliceTransfer {
  int fd;
  std::uint32_t file;  // its number, as in recorder::Transfer
  bool reads;
  std::int64_t offset, bytes;
};

// A slice's call: its result, or -errno.
std::int64_t make_slice_transfer(const SliceTransfer& transfer) noexcept;
std::int64_t make_slice_seek(int fd, std::uint32_t file, std::int64_t offset, int whence) noexcept;

extern std::atomic<bool> g_slice_runs;

// The program's own, while a slice runs, which may wait for it.
void tell_slice(const recorder::Transfer& made) noexcept;
void tell_slice_of_close(int fd) noexcept;

void leave_slice_by_jump() noexcept;

}  // namespace iotune::prefetch
