#include "recorder/trace_block_merge.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "recorder/shared_trace_block.h"

namespace iotune::recorder {
namespace {

using patterns::ByteReader;
using patterns::ByteWriter;

// The head of an entry: u64 key, u32 bytes of the payload, u32 zero. The payload is padded to 8.
constexpr std::size_t kHeadBytes = 16;

constexpr std::size_t padded(std::size_t bytes) noexcept {
  return (bytes + 7) / 8 * 8;
}

void write_head(std::uint64_t key, std::size_t bytes, std::byte* to) noexcept {
  ByteWriter head({to, kHeadBytes});
  head.u64le(key);
  head.u32le(static_cast<std::uint32_t>(bytes));
  head.u32le(0);
}

struct Counted {
  std::size_t entries = 0;
  std::uint64_t most_ranks = 0;
};
Counted count(std::span<const std::byte> blocks) noexcept {
  Counted counted;
  for (RankBlockCursor cursor(blocks); cursor.next(); ++counted.entries) {
    ByteReader in(cursor.payload());
    in.u8();
    counted.most_ranks = std::max(counted.most_ranks, in.varint());
  }
  return counted;
}

std::size_t slots_for(std::size_t entries) noexcept {
  return std::bit_ceil(2 * entries + 2);
}

// The entries of one message by their keys. Each entry is merged at most once.
class KeyTable {
 public:
  struct Slot {
    std::uint64_t key;  // 0: none
    std::uint32_t offset;
    std::uint32_t taken;
  };

  KeyTable(std::span<const std::byte> blocks, std::span<std::byte> memory) noexcept
      : slots_(reinterpret_cast<Slot*>(memory.data())), mask_(memory.size() / sizeof(Slot) - 1) {
    std::memset(memory.data(), 0, memory.size());
    for (RankBlockCursor cursor(blocks); cursor.next();) {
      if (cursor.key() == 0) continue;
      Slot* const slot = place_of(cursor.key());
      if (slot->key != 0) continue;  // the later of two stays as it is
      slot->key = cursor.key();
      slot->offset = static_cast<std::uint32_t>(cursor.whole().data() - blocks.data());
    }
  }
  // nullptr: there is no entry of that key.
  Slot* find(std::uint64_t key) const noexcept {
    Slot* const slot = place_of(key);
    return slot->key == 0 ? nullptr : slot;
  }

 private:
  Slot* place_of(std::uint64_t key) const noexcept {
    std::size_t at = key & mask_;
    while (slots_[at].key != 0 && slots_[at].key != key) at = (at + 1) & mask_;
    return &slots_[at];
  }

  Slot* slots_;
  std::size_t mask_;
};

// The bytes of a block that do not grow with the ranks.
std::uint64_t skeleton_bytes(const SharedParts& parts) noexcept {
  return kHeadBytes + parts.kinds.size() + parts.values.size() + parts.time_values.size();
}

// Few merged ranks may take more room than they take unmerged, because a number in even steps costs
// the same for two ranks and for all. From this many ranks on they must take less.
constexpr std::uint64_t kManyRanks = 4;
constexpr std::uint64_t kSkeletonsForFew = 4;

class Output {
 public:
  // `owed`: the bytes that are still to be written in any case.
  Output(std::span<std::byte> out, std::size_t owed) noexcept : out_(out), owed_(owed) {}

  void copy(const RankBlockCursor& from, std::uint64_t key) noexcept {
    const std::span<const std::byte> whole = from.whole();
    std::memcpy(out_.data() + used_, whole.data(), whole.size());
    write_head(key, from.payload().size(), out_.data() + used_);
    used_ += whole.size();
    owed_ -= whole.size();
  }

  // Merges only where the result takes less room than the ranks one by one.
  bool merge(const RankBlockCursor& a, const RankBlockCursor& b,
             std::span<std::byte> scratch) noexcept {
    SharedParts first, second;
    if (!first.read(a.payload()) || !second.read(b.payload())) return false;
    const std::uint64_t ranks = first.ranks + second.ranks;
    const std::uint64_t worth =
        skeleton_bytes(first) * (ranks < kManyRanks ? kSkeletonsForFew : ranks);
    const std::size_t both = a.whole().size() + b.whole().size();
    const std::size_t room = std::min<std::uint64_t>(worth, out_.size() - used_ - (owed_ - both));
    if (room < kHeadBytes) return false;
    ByteWriter payload(out_.subspan(used_ + kHeadBytes, (room - kHeadBytes) / 8 * 8));
    if (!merge_shared(first, second, scratch, payload)) return false;
    const std::size_t bytes = payload.bytes_used();
    write_head(a.key(), bytes, out_.data() + used_);
    std::memset(out_.data() + used_ + kHeadBytes + bytes, 0, padded(bytes) - bytes);
    used_ += kHeadBytes + padded(bytes);
    owed_ -= both;
    return true;
  }

  std::size_t used() const noexcept { return used_; }

 private:
  std::span<std::byte> out_;
  std::size_t used_ = 0, owed_;
};

// Room for a token for each byte, and for a stream's times for 8 bytes.
constexpr std::size_t kTokenBytes = sizeof(std::uint64_t) + sizeof(TokenKind);
constexpr std::size_t kMostTimes = kMostSharedBytes / 8;

}  // namespace

bool RankBlockCursor::next() noexcept {
  if (left_.empty() || failed_) return false;
  ByteReader head(left_);
  key_ = head.u64le();
  const std::size_t bytes = head.u32le();
  head.u32le();
  const std::size_t whole = kHeadBytes + padded(bytes);
  failed_ = head.failed() || whole > left_.size();
  if (failed_) return false;
  whole_ = left_.first(whole);
  payload_ = left_.subspan(kHeadBytes, bytes);
  left_ = left_.subspan(whole);
  return true;
}

std::size_t rank_block_scratch_bytes() noexcept {
  return kMostSharedBytes * kTokenBytes + kMostTimes * sizeof(SharedTimes);
}

bool add_rank_block(BlockType type, std::span<const std::byte> payload, std::uint64_t ordinal,
                    std::uint64_t rank, std::span<std::byte> scratch, ByteWriter& out) noexcept {
  if (payload.size() > kMostSharedBytes || scratch.size() < rank_block_scratch_bytes()) {
    return false;
  }
  auto* const times = reinterpret_cast<SharedTimes*>(scratch.data());
  auto* const values = reinterpret_cast<std::uint64_t*>(times + kMostTimes);
  auto* const kinds = reinterpret_cast<TokenKind*>(values + kMostSharedBytes);
  const TokenSpace space{
      {values, kMostSharedBytes}, {kinds, kMostSharedBytes}, {times, kMostTimes}};
  TraceBlockTokens tokens;
  if (!tokens_of_block(type, payload, ordinal, space, tokens)) return false;
  const ByteWriter::Mark start = out.mark();
  const std::size_t before = out.bytes_used();
  std::byte head[kHeadBytes];
  write_head(tokens.key | 1U, 0, head);
  out.raw(head, kHeadBytes);
  bool whole = write_shared(type, rank, tokens, space, out);
  const std::size_t bytes = out.bytes_used() - before - kHeadBytes;
  while (whole && (out.bytes_used() - before) % 8 != 0) out.u8(0);
  whole = whole && !out.overflowed();
  if (!whole) {
    out.rewind(start);
    return false;
  }
  write_head(tokens.key | 1U, bytes, const_cast<std::byte*>(out.written().data()) + before);
  return true;
}

std::size_t merge_rank_blocks_scratch_bytes(std::span<const std::byte> a,
                                            std::span<const std::byte> b) noexcept {
  const Counted first = count(a), second = count(b);
  return slots_for(second.entries) * sizeof(KeyTable::Slot) +
         merge_scratch_bytes(first.most_ranks + second.most_ranks);
}

std::size_t merge_rank_blocks(std::span<const std::byte> a, std::span<const std::byte> b,
                              std::span<std::byte> scratch, std::span<std::byte> out) noexcept {
  const std::size_t table_bytes = slots_for(count(b).entries) * sizeof(KeyTable::Slot);
  if (scratch.size() < table_bytes || b.size() > UINT32_MAX || out.size() < a.size() + b.size()) {
    return 0;
  }
  const KeyTable table(b, scratch.first(table_bytes));
  const std::span<std::byte> rest = scratch.subspan(table_bytes);
  Output to(out, a.size() + b.size());
  RankBlockCursor mine(a);
  while (mine.next()) {
    KeyTable::Slot* const slot = mine.key() == 0 ? nullptr : table.find(mine.key());
    if (slot == nullptr || slot->taken != 0) {
      to.copy(mine, mine.key());
      continue;
    }
    RankBlockCursor other(b.subspan(slot->offset));
    if (other.next() && to.merge(mine, other, rest)) {
      slot->taken = 1;
    } else {
      // Both stay unmerged for good: to try again at every level of the tree would cost time at
      // each.
      slot->taken = 2;
      to.copy(mine, 0);
    }
  }
  RankBlockCursor other(b);
  while (other.next()) {
    KeyTable::Slot* const slot = other.key() == 0 ? nullptr : table.find(other.key());
    const bool this_one =
        slot != nullptr && b.data() + slot->offset == other.whole().data() && slot->taken != 0;
    if (this_one && slot->taken == 1) continue;
    to.copy(other, this_one ? 0 : other.key());
  }
  return mine.failed() || other.failed() ? 0 : to.used();
}

}  // namespace iotune::recorder
