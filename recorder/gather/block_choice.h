// Which of this process's blocks go into the trace as they are: a bit each, because the blocks
// themselves are read again when they are sent, in pieces. The others went to the ranks' merge.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/gather/block_walk.h"
#include "recorder/gather/byte_buffer.h"
#include "recorder/ring/process_buffer.h"

namespace iotune::recorder {

class BlockChoice {
 public:
  static BlockChoice all(const HeldBlocks& blocks) noexcept;

  // Room for the choice among blocks of so many bytes; false where there is no memory.
  bool make_room(std::uint64_t bytes) noexcept;
  // The next block, in order.
  void add(const Block& block, bool chosen) noexcept;

  // Of the chosen blocks. With them go the PROCESS blocks, so that they are somebody's.
  std::uint64_t bytes() const noexcept { return any_ ? bytes_ + process_bytes_ : 0; }

  // Calls `visitor` with the chosen ones. False where some cannot be read.
  bool visit(const HeldBlocks& blocks, void (*visitor)(const std::byte*, std::size_t, void*),
             void* context) const noexcept;

 private:
  struct Visit;
  static void visit_some(const std::byte* blocks, std::size_t bytes, void* context) noexcept;

  ByteBuffer bits_;
  std::size_t count_ = 0;
  std::uint64_t bytes_ = 0, process_bytes_ = 0;
  bool any_ = false, all_ = false;
};

}  // namespace iotune::recorder
