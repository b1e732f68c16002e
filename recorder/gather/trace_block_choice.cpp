#include "recorder/gather/trace_block_choice.h"

namespace iotune::recorder {

TraceBlockChoice TraceBlockChoice::all(const HeldBlocks& blocks) noexcept {
  TraceBlockChoice choice;
  choice.any_ = choice.all_ = true;
  choice.bytes_ = blocks.bytes();
  return choice;
}

bool TraceBlockChoice::make_room(std::uint64_t bytes) noexcept {
  bits_ = ByteBuffer(bytes / kBlockHeadBytes / 8 + 1);
  return bits_.capacity() > 0;
}

void TraceBlockChoice::add(const TraceBlock& block, bool chosen) noexcept {
  const std::size_t number = count_++;
  any_ = any_ || chosen;
  if (block.type == BlockType::kProcess) {
    process_bytes_ += block.whole.size();
  } else if (chosen) {
    bits_.room()[number / 8] |= std::byte{1} << (number % 8);
    bytes_ += block.whole.size();
  }
}

struct TraceBlockChoice::Visit {
  const TraceBlockChoice* choice;
  void (*visitor)(const std::byte*, std::size_t, void*);
  void* context;
  std::size_t number;
};

void TraceBlockChoice::visit_some(const std::byte* blocks, std::size_t bytes,
                                  void* context) noexcept {
  auto& visit = *static_cast<Visit*>(context);
  const std::span<const std::byte> bits = visit.choice->bits_.whole();
  std::span<const std::byte> left(blocks, bytes);
  TraceBlock block{};
  for (; next_trace_block(left, block); ++visit.number) {
    const std::byte bit = bits[visit.number / 8] >> (visit.number % 8) & std::byte{1};
    if (block.type == BlockType::kProcess || bit != std::byte{0}) {
      visit.visitor(block.whole.data(), block.whole.size(), visit.context);
    }
  }
}

bool TraceBlockChoice::visit(const HeldBlocks& blocks,
                             void (*visitor)(const std::byte*, std::size_t, void*),
                             void* context) const noexcept {
  if (!any_) return true;
  if (all_) return blocks.visit(visitor, context);
  Visit visit{this, visitor, context, 0};
  return blocks.visit(visit_some, &visit);
}

}  // namespace iotune::recorder
