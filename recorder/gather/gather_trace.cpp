#include "recorder/gather/gather_trace.h"

#include <cstdint>
#include <cstring>
#include <span>

#include "core/process/configuration.h"
#include "core/process/privilege_drop.h"
#include "core/process/process_tree.h"
#include "core/process/thread_state.h"
#include "core/run/run_identity.h"
#include "recorder/gather/byte_buffer.h"
#include "recorder/gather/merge_tree.h"
#include "recorder/gather/trace_block_choice.h"
#include "recorder/gather/trace_file.h"
#include "recorder/gather/worth.h"
#include "recorder/hooks/decisions.h"
#include "recorder/ring/process_buffer.h"

namespace iotune::recorder {
namespace {

constexpr int kTag = 7;

// Blocks are sent in messages of so many bytes; the last one of a rank may be shorter.
constexpr std::size_t kPieceBytes = 1u << 20;

void write_blocks(const std::byte* blocks, std::size_t bytes, void* context) noexcept {
  static_cast<TraceFile*>(context)->append(blocks, bytes);
}

// The communicator of the run's end, and this rank's place in it.
struct World {
  const MpiApi& mpi;
  Word comm;
  int rank = 0, size = 1;

  void broadcast(std::uint64_t& value) const noexcept {
    mpi.MPI_Bcast(&value, sizeof value, mpi.constants.byte, 0, comm);
  }
  // `all`: on rank 0, room for one number of each rank.
  void gather(std::uint64_t value, std::uint64_t* all) const noexcept {
    mpi.MPI_Gather(&value, sizeof value, mpi.constants.byte, all, sizeof value, mpi.constants.byte,
                   0, comm);
  }
};

// The bytes that rank 0 writes into the trace unmerged.
std::uint64_t bytes_apart(const RankShare& share) noexcept {
  return share.apart.used() + share.own.bytes();
}

// Sends a rank's blocks to rank 0, in pieces.
class Sender {
 public:
  Sender(const World& world, std::uint64_t bytes, ByteBuffer& piece) noexcept
      : world_(world), left_(bytes), piece_(piece) {}

  void add(const std::byte* blocks, std::size_t bytes) noexcept {
    while (bytes > 0) {
      const std::size_t free = piece_.capacity() - piece_.used();
      const std::size_t now = bytes < free ? bytes : free;
      piece_.append(blocks, now);
      blocks += now;
      bytes -= now;
      if (piece_.used() == piece_.capacity()) send();
    }
  }
  // Rank 0 waits for as many bytes as were announced. Zeros replace blocks that could not be read
  // again: no reader takes them for a block.
  void finish() noexcept {
    while (left_ > piece_.used()) {
      const std::uint64_t missing = left_ - piece_.used();
      const std::size_t free = piece_.capacity() - piece_.used();
      const std::size_t now = missing < free ? static_cast<std::size_t>(missing) : free;
      std::memset(piece_.room().data() + piece_.used(), 0, now);
      piece_.set_used(piece_.used() + now);
      if (piece_.used() == piece_.capacity()) send();
    }
    if (piece_.used() > 0) send();
  }

 private:
  void send() noexcept {
    world_.mpi.MPI_Send(piece_.bytes().data(), static_cast<int>(piece_.used()),
                        world_.mpi.constants.byte, 0, kTag, world_.comm);
    left_ -= piece_.used();
    piece_.set_used(0);
  }

  const World& world_;
  std::uint64_t left_;
  ByteBuffer& piece_;
};

void add_to_sender(const std::byte* blocks, std::size_t bytes, void* context) noexcept {
  static_cast<Sender*>(context)->add(blocks, bytes);
}

// Sends nothing where rank 0 has no memory for a piece.
void send_blocks(const World& world, const HeldBlocks& held, const RankShare& share,
                 ByteBuffer& piece) noexcept {
  std::uint64_t go = 0;
  world.broadcast(go);
  if (go == 0 || share.failed) return;
  Sender sender(world, bytes_apart(share), piece);
  sender.add(share.apart.bytes().data(), share.apart.used());
  share.own.visit(held, add_to_sender, &sender);
  sender.finish();
}

// Writes rank 0's own blocks, then those of every other rank, of which it has `bytes`.
bool receive_blocks(const World& world, const HeldBlocks& held, const RankShare& mine,
                    const std::uint64_t* bytes, TraceFile& trace) noexcept {
  ByteBuffer piece(kPieceBytes);
  std::uint64_t go = piece.capacity() == 0 ? 0 : 1;
  world.broadcast(go);
  if (go == 0) return false;
  trace.append(mine.shared.bytes().data(), mine.shared.used());
  trace.append(mine.apart.bytes().data(), mine.apart.used());
  mine.own.visit(held, write_blocks, &trace);
  bool whole = true;
  for (int rank = 1; rank < world.size; ++rank) {
    for (std::uint64_t left = bytes[rank]; left > 0;) {
      const std::size_t now = left < kPieceBytes ? static_cast<std::size_t>(left) : kPieceBytes;
      StatusSpace status{};
      left -= now;
      if (world.mpi.MPI_Recv(piece.room().data(), static_cast<int>(now), world.mpi.constants.byte,
                             rank, kTag, world.comm, &status) != 0) {
        whole = false;  // the other ranks still wait to be heard
        continue;
      }
      trace.append(piece.room().data(), now);
    }
  }
  return whole;
}

// Sent with a rank's bytes: it had no room for some of its calls.
constexpr std::uint64_t kHasDropped = std::uint64_t{1} << 63;
// Likewise: it may neither write nor take memory (privilege_drop.h). Then the buffers of all ranks
// are kept, to be joined into one trace later.
constexpr std::uint64_t kHasDroppedPrivileges = std::uint64_t{1} << 62;
// Likewise: it has something for the site's log of what was applied (decisions.h).
constexpr std::uint64_t kHasOutcomes = std::uint64_t{1} << 61;
// Likewise: it moved a byte of a data file (worth.h).
constexpr std::uint64_t kHasMoved = std::uint64_t{1} << 60;
constexpr std::uint64_t kFlags = kHasDropped | kHasDroppedPrivileges | kHasOutcomes | kHasMoved;

// Only rank 0 reports it; not where it lost calls itself, which it has reported before.
void tell_of_dropping_ranks(int ranks, int size) noexcept {
  const char* const directory = run_directory();
  ShortText<640> text;
  text << static_cast<std::uint64_t>(ranks) << " of " << static_cast<std::uint64_t>(size)
       << " ranks had no room for all their calls in " << (directory != nullptr ? directory : "")
       << ": these are counted, not recorded";
  say(text.c_str());
}

// kNothing: no rank moved any data, and nobody asked for a trace.
enum class Gathering : std::uint64_t { kNot, kWhole, kMerged, kNothing };

// Above rank 0's answer: ranks below this number send what they have for the log.
constexpr int kTellingShift = 32;
constexpr int kOutcomesTag = 8;
// Where each rank opens files of its own they are alike: so many are asked.
constexpr int kMostTelling = 64;

// By rank 0: below which number at most kMostTelling ranks have something for the log; 0 where it
// keeps none.
std::uint64_t end_of_telling(const std::uint64_t* sizes, int ranks) noexcept {
  if (g_decisions.room_for_outcomes().empty()) return 0;
  int telling = 0, end = 1;
  for (int rank = 1; rank < ranks && telling < kMostTelling; ++rank) {
    if ((sizes[rank] & kHasOutcomes) == 0) continue;
    ++telling;
    end = rank + 1;
  }
  return telling == 0 ? 0 : static_cast<std::uint64_t>(end);
}

// Who has something knows it, and so does rank 0 of each: nobody waits for a message that does not
// come.
void exchange_outcomes(const World& world, std::span<const std::byte> own,
                       const std::uint64_t* sizes, int end) noexcept {
  if (world.rank != 0) {
    if (own.empty() || world.rank >= end) return;
    world.mpi.MPI_Send(own.data(), static_cast<int>(own.size()), world.mpi.constants.byte, 0,
                       kOutcomesTag, world.comm);
    return;
  }
  const std::span<std::byte> room = g_decisions.room_for_outcomes();
  for (int rank = 1; rank < end; ++rank) {
    if ((sizes[rank] & kHasOutcomes) == 0) continue;
    StatusSpace status{};
    if (world.mpi.MPI_Recv(room.data(), static_cast<int>(room.size()), world.mpi.constants.byte,
                           rank, kOutcomesTag, world.comm, &status) == 0) {
      g_decisions.take_outcomes();
    }
  }
}

// Rank 0 decides by the bytes of all ranks. `sizes`: on rank 0 a number for each rank, else
// nullptr.
Gathering agree(const World& world, std::uint64_t bytes, std::uint64_t* sizes) noexcept {
  std::uint64_t answer = world.rank == 0 && sizes != nullptr ? 1 : 0;
  world.broadcast(answer);
  if (answer == 0) return Gathering::kNot;
  std::span<const std::byte> outcomes;
  if (world.rank != 0 && !has_dropped_privileges()) outcomes = g_decisions.own_outcomes();
  world.gather(bytes | (dropped_calls() > 0 ? kHasDropped : 0) |
                   (has_dropped_privileges() ? kHasDroppedPrivileges : 0) |
                   (outcomes.empty() ? 0 : kHasOutcomes) | (moved_data() ? kHasMoved : 0),
               sizes);
  if (world.rank == 0 && sizes != nullptr) {
    std::uint64_t sum = 0;
    int dropping = 0;
    bool dropped_privileges = false, moved = configuration().trace_path != nullptr;
    for (int i = 0; i < world.size; ++i) {
      if ((sizes[i] & kHasDropped) != 0) ++dropping;
      dropped_privileges = dropped_privileges || (sizes[i] & kHasDroppedPrivileges) != 0;
      moved = moved || (sizes[i] & (kHasMoved | kHasDropped)) != 0;
      sum += sizes[i] & ~kFlags;
    }
    if (dropping > 0 && dropped_calls() == 0) tell_of_dropping_ranks(dropping, world.size);
    // Merged blocks have no times of single calls, so nothing is merged where the user asks for
    // these.
    const bool merge = !configuration().time_every_call && sum > configuration().merge_above_bytes;
    // Ranks that traced nothing leave no trace behind.
    answer = static_cast<std::uint64_t>(sum == 0 || dropped_privileges ? Gathering::kNot
                                        : !moved                       ? Gathering::kNothing
                                        : merge                        ? Gathering::kMerged
                                                                       : Gathering::kWhole);
    // The log has what was decided also where no trace is written here.
    if (!has_dropped_privileges()) answer |= end_of_telling(sizes, world.size) << kTellingShift;
  }
  world.broadcast(answer);
  exchange_outcomes(world, outcomes, sizes, static_cast<int>(answer >> kTellingShift));
  for (int i = 0; world.rank == 0 && i < world.size; ++i) sizes[i] &= ~kFlags;
  return static_cast<Gathering>(answer & UINT32_MAX);
}

// Returns the path of the trace on rank 0, if it was written; else nullptr.
const char* gather(const World& world, const HeldBlocks& held, std::uint64_t* sizes,
                   std::uint64_t& done) noexcept {
  static constinit ShortText<4096> path;
  const Gathering how = agree(world, held.bytes(), sizes);
  if (how == Gathering::kNothing) give_up_run();
  if (how == Gathering::kNot || how == Gathering::kNothing) return nullptr;
  RankShare share;
  if (how == Gathering::kWhole) {
    share.own = TraceBlockChoice::all(held);
  } else {
    share = share_of_rank(held, static_cast<std::uint64_t>(world.rank),
                          static_cast<std::uint64_t>(world.size));
    merge_up_the_tree(world.mpi, world.comm, world.rank, world.size, share);
  }
  ByteBuffer piece(world.rank == 0 ? 0 : kPieceBytes);
  share.failed = share.failed || (world.rank != 0 && piece.capacity() == 0);
  world.gather(share.failed ? UINT64_MAX : bytes_apart(share), sizes);
  if (world.rank != 0) {
    send_blocks(world, held, share, piece);
    world.broadcast(done);
    return nullptr;
  }
  bool whole = true;
  for (int i = 0; i < world.size; ++i) {
    if (sizes[i] != UINT64_MAX) continue;
    sizes[i] = 0;
    whole = false;
  }
  const bool place = trace_path(path);
  TraceFile trace(place ? path.c_str() : "/nonexistent/iotune");
  make_trace_blocks(share.shared.bytes());
  const bool written =
      receive_blocks(world, held, share, sizes, trace) && whole && place && trace.finish();
  done = written ? 1 : 0;
  world.broadcast(done);
  return written ? path.c_str() : nullptr;
}

}  // namespace

const char* gather_trace(const MpiApi& mpi) noexcept {
  const OwnCode own;
  World world{mpi, 0};
  mpi.MPI_Comm_rank(mpi.constants.comm_world, &world.rank);
  mpi.MPI_Comm_size(mpi.constants.comm_world, &world.size);
  // On a communicator of our own no message can meet one of the program.
  world.comm = split_quietly(mpi, mpi.constants.comm_world);
  if (world.comm == mpi.constants.comm_null) return nullptr;

  const HeldBlocks held;
  // Rank 0 can take the other ranks' blocks only if it has memory for this table; a rank 0 without
  // privileges has none.
  ByteBuffer sizes(world.rank == 0 ? static_cast<std::size_t>(world.size) * 8 : 0);
  std::uint64_t done = 0;
  const char* const path =
      gather(world, held, reinterpret_cast<std::uint64_t*>(sizes.room().data()), done);
  if (done != 0) mark_joined();
  mpi.MPI_Comm_free(&world.comm);
  return path;
}

namespace {
constinit bool g_trace_has_others = false;
}

bool trace_has_others() noexcept {
  return g_trace_has_others;
}

bool write_own_blocks(const char* path) noexcept {
  const OwnCode own;
  TraceFile trace(path);
  const HeldBlocks held;
  held.visit(write_blocks, &trace);
  return trace.finish();
}

const char* write_own_trace() noexcept {
  if (!buffer_exists()) return nullptr;
  const OwnCode own;
  static constinit ShortText<4096> path;
  if (!trace_path(path)) return nullptr;
  const bool of_many = configuration().trace_path != nullptr && run_is_this_process();
  // Other processes of the same command line may end at the same moment.
  constexpr int kAttempts = 8;
  bool written = false;
  for (int i = 0; i < kAttempts && !written; ++i) {
    TraceFile trace(path.c_str());
    if (of_many) trace.keep_blocks_of(process_tree());
    const HeldBlocks held;
    held.visit(write_blocks, &trace);
    if (of_many && i + 1 < kAttempts && trace.is_late()) continue;
    if (!trace.finish()) return nullptr;
    g_trace_has_others = trace.has_kept_blocks();
    written = true;
  }
  mark_joined();
  return path.c_str();
}

}  // namespace iotune::recorder
