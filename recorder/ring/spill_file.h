// Finished blocks that left the process buffer's memory: a file in the trace's directory, found by
// a link beside the buffer (FORMAT.md, "Spill"). A trace by itself, so that it is read and joined
// as one. Written by plain writes: the file system may be any, and full.
// Not locked: BufferFile, the only user, is called under its lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/os/short_text.h"

namespace iotune::recorder {

class SpillFile {
 public:
  constexpr SpillFile() noexcept = default;

  bool exists() const noexcept { return inode_ != 0; }
  // Makes the file for the buffer at `buffer_path`; it begins with the block that says whose
  // blocks follow. False, and nothing is left of it, where that cannot be.
  bool create(const char* buffer_path, std::span<const std::byte> process_block) noexcept;

  // begin(), append() any number of times, commit(): false of any of them means that the file
  // counts as long as it was.
  bool begin() noexcept;
  bool append(std::span<const std::byte> blocks) noexcept;
  bool commit() noexcept;

  // Bytes of the file that count.
  std::uint64_t bytes() const noexcept { return bytes_; }

  // Calls `visitor` with whole blocks, `window` bytes of memory at a time, up to the file's first
  // `end` bytes. `window`: no block is larger. False where not all of it could be read.
  bool visit(std::uint64_t end, std::span<std::byte> window,
             void (*visitor)(const std::byte*, std::size_t, void*), void* context) const noexcept;

  void remove() noexcept;
  // In a forked child: it is the parent's.
  void forget() noexcept;

 private:
  int open(int flags) const noexcept;
  bool is_ours(int fd) const noexcept;

  ShortText<4096> path_;
  ShortText<640> link_;
  std::uint64_t device_ = 0, inode_ = 0;
  std::uint64_t bytes_ = 0, first_block_ = 0;
  std::uint64_t end_ = 0;  // of what was appended since begin()
  int fd_ = -1;            // between begin() and commit()
};

}  // namespace iotune::recorder
