// Which descriptors of this process are traced, and the number of their file.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/process/thread_state.h"

namespace iotune::recorder {

// Most programs use the near ones alone. Memory for the far ones is taken when the first is traced:
// all zeros of a library count against a program's RLIMIT_DATA.
inline constexpr int kMaxDescriptors = 65536, kNearDescriptors = 4096;
struct DescriptorWords {
  std::atomic<std::uint32_t> file, traits;  // traits: descriptor_place.h
};
extern std::atomic<std::uint32_t> g_descriptor_file[kNearDescriptors];

// Of a descriptor that is not near; nullptr where there is no memory for them. `makes`: takes it.
[[gnu::cold]] DescriptorWords* far_descriptor(int fd, bool makes = false) noexcept;
[[gnu::cold]] std::uint32_t file_of_far_descriptor(int fd) noexcept;
// Beyond which none is traced.
int end_of_descriptors() noexcept;

// 0: not traced.
inline std::uint32_t file_of_descriptor(int fd) noexcept {
  return static_cast<unsigned>(fd) < static_cast<unsigned>(kNearDescriptors)
             ? g_descriptor_file[fd].load(std::memory_order_relaxed)
             : file_of_far_descriptor(fd);
}

// A change only: what a child of vfork closes stays open in its parent, whose table this is.
inline void set_file_of_descriptor(int fd, std::uint32_t file) noexcept {
  if (file_of_descriptor(fd) == file || in_vfork_child()) return;
  if (static_cast<unsigned>(fd) < static_cast<unsigned>(kNearDescriptors)) {
    g_descriptor_file[fd].store(file, std::memory_order_relaxed);
  } else if (DescriptorWords* const words = far_descriptor(fd, true)) {
    words->file.store(file, std::memory_order_relaxed);
  }
}

// The descriptor is about to be closed, or to become another file's: services hear of it, and it
// is not traced any more.
void leave_descriptor(int fd) noexcept;

// Numbers a descriptor that was just opened on the absolute `path`, and notes its file. `appends`:
// with O_APPEND.
void note_descriptor(int fd, const char* path, bool appends) noexcept;

// Notes the file of every traced descriptor: a forked child's trace has to name them itself.
void announce_descriptors() noexcept;

// By the constructor: files that are open already are traced as if this program had opened them,
// but for stderr's. They alone leave a trace only once much is moved (process_buffer.h).
void trace_descriptors_at_start() noexcept;

// The number of the traced file that stdout was at that moment; 0: none. What goes there is what
// the program says, and no data file's.
std::uint32_t file_of_stdout() noexcept;

// What /proc says, NUL-terminated; the length, or an error below 1.
long path_of_descriptor(int fd, char* to, std::size_t bytes) noexcept;

}  // namespace iotune::recorder
