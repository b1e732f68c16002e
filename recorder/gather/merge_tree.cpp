#include "recorder/gather/merge_tree.h"

#include <climits>

#include "patterns/crc32c.h"
#include "recorder/format.h"
#include "recorder/trace_block_merge.h"

namespace iotune::recorder {
namespace {

constexpr int kTreeTag = 8;

// A larger message is not merged any further: it would be irregular, and rank 0 would have to hold
// it.
constexpr std::size_t kMostTreeBytes = 48U << 20U;

// Room for a rank's blocks in the form in which they are merged: a token may take more room than
// the byte it replaces, but only where there are few of them.
constexpr std::size_t kTokensPerByte = 4, kMostShareBytes = kTokensPerByte * kMostTreeBytes;

// Of all ranks' marks of time in a merged trace, and of a rank's text that goes with them.
constexpr std::uint64_t kMostMarksBytesOfAll = 4U << 20U, kTextBytes = 1024;

struct Sharing {
  RankShare* share;
  std::span<std::byte> scratch;
  std::uint64_t rank;
  std::uint64_t marks_left;     // bytes
  std::uint64_t ordinals[256];  // by type: blocks so far
};

void share_blocks(const std::byte* blocks, std::size_t bytes, void* context) noexcept {
  auto& sharing = *static_cast<Sharing*>(context);
  RankShare& share = *sharing.share;
  std::span<const std::byte> left(blocks, bytes);
  TraceBlock block{};
  while (next_trace_block(left, block)) {
    if (block.type == BlockType::kMarks) {
      const bool kept = block.whole.size() <= sharing.marks_left;
      sharing.marks_left = kept ? sharing.marks_left - block.whole.size() : 0;
      share.own.add(block, kept);
      continue;
    }
    std::uint64_t& ordinal = sharing.ordinals[static_cast<std::uint8_t>(block.type)];
    patterns::ByteWriter out(share.shared.room().subspan(share.shared.used()));
    const bool shared =
        add_rank_block(block.type, block.payload, ordinal++, sharing.rank, sharing.scratch, out);
    if (shared) share.shared.set_used(share.shared.used() + out.bytes_used());
    share.own.add(block, !shared);
  }
}

// The rank's blocks are merged no further: they go to rank 0 as blocks of a trace.
void set_apart(RankShare& share) noexcept {
  ByteBuffer both(share.apart.used() + share.shared.used());
  make_trace_blocks(share.shared.bytes());
  share.failed = !both.append(share.apart.bytes().data(), share.apart.used()) ||
                 !both.append(share.shared.bytes().data(), share.shared.used()) || share.failed;
  share.apart = static_cast<ByteBuffer&&>(both);
  share.shared.set_used(0);
}

void take_in(ByteBuffer& other, RankShare& share) noexcept {
  if (other.used() == 0) return;
  if (share.shared.used() == 0) {
    share.shared = static_cast<ByteBuffer&&>(other);
    return;
  }
  const std::size_t scratch_bytes =
      merge_rank_blocks_scratch_bytes(share.shared.bytes(), other.bytes());
  ByteBuffer scratch(scratch_bytes);
  ByteBuffer merged(kMergeRoom * (share.shared.used() + other.used()));
  const std::size_t bytes =
      merge_rank_blocks(share.shared.bytes(), other.bytes(), scratch.room(), merged.room());
  share.failed = share.failed || bytes == 0;
  if (bytes == 0) return;
  merged.set_used(bytes);
  share.shared = static_cast<ByteBuffer&&>(merged);
}

// What a rank sends before its blocks.
struct Announcement {
  std::uint64_t bytes, failed;
};

// The reply to an announcement.
enum class Answer : std::uint64_t { kNoMemory, kSend, kSetApart };

void receive_from(const MpiApi& mpi, Word comm, int from, RankShare& share) noexcept {
  Announcement announced{};
  StatusSpace status{};
  if (mpi.MPI_Recv(&announced, sizeof announced, mpi.constants.byte, from, kTreeTag, comm,
                   &status) != 0) {
    share.failed = true;
    return;
  }
  share.failed = share.failed || announced.failed != 0;
  const bool too_much = announced.bytes + share.shared.used() > kMostTreeBytes;
  ByteBuffer blocks(too_much ? 0 : announced.bytes);
  const Answer answer = too_much                              ? Answer::kSetApart
                        : blocks.capacity() < announced.bytes ? Answer::kNoMemory
                                                              : Answer::kSend;
  mpi.MPI_Send(&answer, sizeof answer, mpi.constants.byte, from, kTreeTag, comm);
  share.failed = share.failed || answer == Answer::kNoMemory;
  if (answer != Answer::kSend || announced.bytes == 0) return;
  if (mpi.MPI_Recv(blocks.room().data(), static_cast<int>(announced.bytes), mpi.constants.byte,
                   from, kTreeTag, comm, &status) != 0) {
    share.failed = true;
    return;
  }
  blocks.set_used(announced.bytes);
  take_in(blocks, share);
}

void send_to(const MpiApi& mpi, Word comm, int to, RankShare& share) noexcept {
  const Announcement announced{share.shared.used(), share.failed ? 1U : 0U};
  StatusSpace status{};
  Answer answer = Answer::kNoMemory;
  mpi.MPI_Send(&announced, sizeof announced, mpi.constants.byte, to, kTreeTag, comm);
  mpi.MPI_Recv(&answer, sizeof answer, mpi.constants.byte, to, kTreeTag, comm, &status);
  if (answer == Answer::kSend && announced.bytes > 0) {
    mpi.MPI_Send(share.shared.bytes().data(), static_cast<int>(announced.bytes), mpi.constants.byte,
                 to, kTreeTag, comm);
  }
  if (answer == Answer::kSetApart) set_apart(share);
  share.shared.set_used(0);
}

}  // namespace

void make_trace_blocks(std::span<std::byte> shared) noexcept {
  // Both forms have heads of the same length and the same padding.
  static_assert(kBlockHeadBytes == 16);
  RankBlockCursor cursor(shared);
  while (cursor.next()) {
    const std::span<const std::byte> payload = cursor.payload();
    std::byte* const block = shared.data() + (cursor.whole().data() - shared.data());
    patterns::ByteWriter head({block, kBlockHeadBytes});
    head.u32le(kBlockMagic);
    head.u32le(static_cast<std::uint32_t>(BlockType::kShared));
    head.u32le(static_cast<std::uint32_t>(payload.size()));
    head.u32le(patterns::crc32c(payload.data(), payload.size(), patterns::crc32c(block + 4, 8)));
  }
}

RankShare share_of_rank(const HeldBlocks& blocks, std::uint64_t rank,
                        std::uint64_t ranks) noexcept {
  RankShare share;
  ByteBuffer scratch(rank_block_scratch_bytes());
  const std::uint64_t room = kTokensPerByte * blocks.bytes() + 4096;
  share.shared = ByteBuffer(room < kMostShareBytes ? room : kMostShareBytes);
  share.failed = !share.own.make_room(blocks.bytes());
  if (share.failed) return share;
  const std::uint64_t each = kMostMarksBytesOfAll / ranks;
  Sharing sharing{&share, scratch.room(), rank, each > kTextBytes ? each - kTextBytes : 0, {}};
  blocks.visit(share_blocks, &sharing);
  return share;
}

void merge_up_the_tree(const MpiApi& mpi, Word comm, int rank, int size,
                       RankShare& share) noexcept {
  for (int step = 1; step < size; step *= 2) {
    if ((rank & step) != 0) {
      send_to(mpi, comm, rank - step, share);
      return;
    }
    if (step < size - rank) receive_from(mpi, comm, rank + step, share);
    if (step > INT_MAX / 2) return;
  }
}

}  // namespace iotune::recorder
