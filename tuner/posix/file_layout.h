// How a file system spreads one file over its storage targets, as Lustre and CephFS let a
// program say for a file that is still empty. Their calls go through libc by name, so that a test
// can stand beneath them.
#pragma once

#include <cstdint>

#include "tuner/decision/reasons.h"

namespace iotune::tuner {

enum class LayoutKind : std::uint8_t { kNone, kLustre, kCeph };

struct FileLayout {
  std::uint64_t stripe_count, stripe_bytes;  // 0: not said
  bool overstriped;                          // Lustre: more stripes than targets are allowed
};

// Of the file system that the directory lies on. Directories are real ones (real_directory.h): what
// is above them is taken from their names.
LayoutKind layout_kind_of(const char* directory) noexcept;

// True where somebody gave this directory a layout for its new files, a progressive one (PFL) too,
// or on CephFS one above it: then that is what they get. Of the file system's own default a PFL
// only.
bool directory_has_layout(LayoutKind kind, const char* directory) noexcept;

// Lustre gives a file its layout at the open that makes it, unless these flags are set.
inline constexpr int kDelayLayout = 020400;

// On the descriptor that has just made the file. Reason::kNone, or why not. On Lustre the
// descriptor was opened with kDelayLayout, and the file has some layout afterwards whatever
// happens.
Reason set_layout(LayoutKind kind, int fd, FileLayout wanted) noexcept;

// By path: closing a descriptor would drop the program's locks. False where it cannot be read.
bool read_layout(LayoutKind kind, const char* path, FileLayout& layout) noexcept;

}  // namespace iotune::tuner
