// Which of this process's blocks go into the trace unmerged: a bit for each, because the blocks are
// read again, in pieces, when they are sent. The others are merged with those of other ranks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/gather/byte_buffer.h"
#include "recorder/gather/trace_block_walk.h"
#include "recorder/ring/process_buffer.h"

namespace iotune::recorder {

class TraceBlockChoice {
 public:
  static TraceBlockChoice all(const HeldBlocks& blocks) noexcept;

  // Room for the choice among blocks of `bytes` in all; false where there is no memory.
  bool make_room(std::uint64_t bytes) noexcept;
  // Adds the next block, in the order of visit().
  void add(const TraceBlock& block, bool chosen) noexcept;

  // Of the chosen blocks and of the PROCESS blocks, which say whose they are and go with them.
  std::uint64_t bytes() const noexcept { return any_ ? bytes_ + process_bytes_ : 0; }

  // Calls `visitor` with the chosen blocks. False where some cannot be read.
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
