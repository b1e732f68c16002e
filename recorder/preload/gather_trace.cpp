#include "recorder/preload/gather_trace.h"

#include <climits>
#include <cstdint>

#include "recorder/preload/byte_buffer.h"
#include "recorder/preload/configuration.h"
#include "recorder/preload/merge_tree.h"
#include "recorder/preload/process_buffer.h"
#include "recorder/preload/run_identity.h"
#include "recorder/preload/thread_state.h"
#include "recorder/preload/trace_file.h"

namespace iotune::recorder {
namespace {

constexpr int kTag = 7;

void add_size(const std::byte*, std::size_t bytes, void* context) noexcept {
  *static_cast<std::uint64_t*>(context) += bytes;
}
void copy_blocks(const std::byte* blocks, std::size_t bytes, void* context) noexcept {
  static_cast<ByteBuffer*>(context)->append(blocks, bytes);
}
void write_blocks(const std::byte* blocks, std::size_t bytes, void* context) noexcept {
  static_cast<TraceFile*>(context)->append(blocks, bytes);
}

// This process's blocks in one piece; empty where there are none.
ByteBuffer own_blocks() noexcept {
  std::uint64_t bytes = 0;
  if (buffer_exists()) visit_blocks(add_size, &bytes);
  ByteBuffer blocks(bytes);
  if (blocks.capacity() > 0) visit_blocks(copy_blocks, &blocks);
  return blocks;
}

// The communicator of the run's end, and this rank's place in it.
struct World {
  const MpiApi& mpi;
  Word comm;
  int rank = 0, size = 1;

  void broadcast(std::uint64_t& value) const noexcept {
    mpi.MPI_Bcast(&value, sizeof value, mpi.constants.byte, 0, comm);
  }
  // `all`: room for a number of each rank, on rank 0.
  void gather(std::uint64_t value, std::uint64_t* all) const noexcept {
    mpi.MPI_Gather(&value, sizeof value, mpi.constants.byte, all, sizeof value, mpi.constants.byte,
                   0, comm);
  }
};

// Rank 0's own blocks, then those of each other rank: memory for the largest.
bool receive_blocks(const World& world, const RankShare& mine, const std::uint64_t* bytes,
                    TraceFile& trace) noexcept {
  std::uint64_t largest = 1;
  for (int rank = 1; rank < world.size; ++rank) {
    largest = bytes[rank] > largest ? bytes[rank] : largest;
  }
  const ByteBuffer memory(largest);
  std::uint64_t go = memory.capacity() == 0 ? 0 : 1;
  world.broadcast(go);
  if (go == 0) return false;
  trace.append(mine.shared.bytes().data(), mine.shared.used());
  trace.append(mine.apart.bytes().data(), mine.apart.used());
  bool whole = true;
  for (int rank = 1; rank < world.size; ++rank) {
    if (bytes[rank] == 0) continue;
    StatusSpace status{};
    auto* const to = const_cast<std::byte*>(memory.bytes().data());
    if (world.mpi.MPI_Recv(to, static_cast<int>(bytes[rank]), world.mpi.constants.byte, rank, kTag,
                           world.comm, &status) != 0) {
      whole = false;  // the other ranks still wait to be heard
      continue;
    }
    trace.append(to, bytes[rank]);
  }
  return whole;
}

void send_blocks(const World& world, const ByteBuffer& blocks) noexcept {
  std::uint64_t go = 0;
  world.broadcast(go);
  if (go == 0 || blocks.used() == 0) return;
  world.mpi.MPI_Send(blocks.bytes().data(), static_cast<int>(blocks.used()),
                     world.mpi.constants.byte, 0, kTag, world.comm);
}

enum class Gathering : std::uint64_t { kNot, kWhole, kMerged };

// Rank 0 decides by the bytes of all ranks. `sizes`: a number for each rank, nullptr elsewhere.
Gathering agree(const World& world, std::uint64_t bytes, std::uint64_t* sizes) noexcept {
  std::uint64_t answer = world.rank == 0 && sizes != nullptr ? 1 : 0;
  world.broadcast(answer);
  if (answer == 0) return Gathering::kNot;
  world.gather(bytes, sizes);
  if (world.rank == 0) {
    std::uint64_t sum = 0;
    for (int i = 0; i < world.size; ++i) sum += sizes[i];
    // The user who asks for the times of single calls gets them.
    const bool merge = !configuration().time_every_call && sum > configuration().merge_above_bytes;
    // Ranks that traced nothing leave no trace behind.
    answer = static_cast<std::uint64_t>(sum == 0 ? Gathering::kNot
                                        : merge  ? Gathering::kMerged
                                                 : Gathering::kWhole);
  }
  world.broadcast(answer);
  return static_cast<Gathering>(answer);
}

// The trace's path where it was written, on rank 0 only.
const char* gather(const World& world, ByteBuffer& mine, std::uint64_t* sizes,
                   std::uint64_t& done) noexcept {
  static constinit ShortText<4096> path;
  // MPI counts in int: a rank with more keeps its buffer for the next iotune command.
  const bool countable = mine.used() <= INT_MAX;
  const Gathering how = agree(world, mine.used(), sizes);
  if (how == Gathering::kNot) return nullptr;
  RankShare share;
  if (!countable) {
    share.failed = true;
  } else if (how == Gathering::kWhole) {
    share.apart = static_cast<ByteBuffer&&>(mine);
  } else {
    share = share_of_rank(mine.bytes(), static_cast<std::uint64_t>(world.rank));
  }
  if (how == Gathering::kMerged) {
    merge_up_the_tree(world.mpi, world.comm, world.rank, world.size, share);
  }
  if (share.apart.used() > INT_MAX) share.failed = true;
  world.gather(share.failed ? UINT64_MAX : share.apart.used(), sizes);
  if (world.rank != 0) {
    if (share.failed) share.apart.set_used(0);
    send_blocks(world, share.apart);
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
      receive_blocks(world, share, sizes, trace) && whole && place && trace.finish();
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
  // The program's messages are not met on a communicator of our own.
  world.comm = split_quietly(mpi, mpi.constants.comm_world);
  if (world.comm == mpi.constants.comm_null) return nullptr;

  ByteBuffer mine = own_blocks();
  // Rank 0 says by this table whether it can take the others' blocks.
  ByteBuffer sizes(world.rank == 0 ? static_cast<std::size_t>(world.size) * 8 : 0);
  std::uint64_t done = 0;
  const char* const path =
      gather(world, mine, reinterpret_cast<std::uint64_t*>(sizes.room().data()), done);
  if (done != 0) mark_joined();
  mpi.MPI_Comm_free(&world.comm);
  return path;
}

const char* write_own_trace() noexcept {
  if (!buffer_exists()) return nullptr;
  const OwnCode own;
  static constinit ShortText<4096> path;
  if (!trace_path(path)) return nullptr;
  TraceFile trace(path.c_str());
  visit_blocks(write_blocks, &trace);
  if (!trace.finish()) return nullptr;
  mark_joined();
  return path.c_str();
}

}  // namespace iotune::recorder
