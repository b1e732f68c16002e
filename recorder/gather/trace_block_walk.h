// Walks over the blocks of a trace in memory, as this process wrote them: only that they are whole
// is checked.
#pragma once

#include <cstddef>
#include <span>

#include "patterns/bytes.h"
#include "recorder/format.h"

namespace iotune::recorder {

struct TraceBlock {
  BlockType type;
  std::span<const std::byte> whole, payload;  // with head and padding; without
};

// Takes the first block off `blocks`. False, with `blocks` as they were, where there is no whole
// one.
inline bool next_trace_block(std::span<const std::byte>& blocks, TraceBlock& block) noexcept {
  patterns::ByteReader head(blocks);
  if (head.u32le() != kBlockMagic) return false;
  block.type = static_cast<BlockType>(head.u32le());
  const std::size_t bytes = head.u32le();
  const std::size_t whole =
      (kBlockHeadBytes + bytes + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment;
  if (head.failed() || whole > blocks.size()) return false;
  block.whole = blocks.first(whole);
  block.payload = blocks.subspan(kBlockHeadBytes, bytes);
  blocks = blocks.subspan(whole);
  return true;
}

}  // namespace iotune::recorder
