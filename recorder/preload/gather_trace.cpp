#include "recorder/preload/gather_trace.h"

#include <climits>
#include <cstdint>

#include "recorder/preload/configuration.h"
#include "recorder/preload/mapped_file.h"
#include "recorder/preload/process_buffer.h"
#include "recorder/preload/run_identity.h"
#include "recorder/preload/thread_state.h"
#include "recorder/preload/trace_file.h"

namespace iotune::recorder {
namespace {

constexpr int kTag = 7;

struct Bytes {
  std::byte* memory;
  std::size_t used, capacity;
};

void add_size(const std::byte*, std::size_t bytes, void* context) noexcept {
  *static_cast<std::uint64_t*>(context) += bytes;
}
void copy_blocks(const std::byte* blocks, std::size_t bytes, void* context) noexcept {
  auto& to = *static_cast<Bytes*>(context);
  if (to.used + bytes > to.capacity) return;
  std::memcpy(to.memory + to.used, blocks, bytes);
  to.used += bytes;
}
void write_blocks(const std::byte* blocks, std::size_t bytes, void* context) noexcept {
  static_cast<TraceFile*>(context)->append(blocks, bytes);
}

// This process's blocks in one piece; {nullptr, 0, 0} where there are none.
Bytes own_blocks() noexcept {
  std::uint64_t bytes = 0;
  if (buffer_exists()) visit_blocks(add_size, &bytes);
  if (bytes == 0) return {};
  Bytes blocks{static_cast<std::byte*>(private_memory(bytes)), 0, bytes};
  if (blocks.memory == nullptr) return {};
  visit_blocks(copy_blocks, &blocks);
  return blocks;
}

bool receive_all(const MpiApi& mpi, Word comm, int size, const std::uint64_t* bytes,
                 TraceFile& trace) noexcept {
  std::uint64_t largest = 1;
  for (int rank = 1; rank < size; ++rank) largest = bytes[rank] > largest ? bytes[rank] : largest;
  auto* const memory = static_cast<std::byte*>(private_memory(largest));
  std::uint64_t go = memory == nullptr ? 0 : 1;
  mpi.MPI_Bcast(&go, 8, mpi.constants.byte, 0, comm);
  if (go == 0) return false;
  bool whole = true;
  for (int rank = 1; rank < size; ++rank) {
    if (bytes[rank] == 0) continue;
    StatusSpace status{};
    if (mpi.MPI_Recv(memory, static_cast<int>(bytes[rank]), mpi.constants.byte, rank, kTag, comm,
                     &status) != 0) {
      whole = false;  // the other ranks still wait to be heard
      continue;
    }
    trace.append(memory, bytes[rank]);
  }
  unmap(memory, largest);
  return whole;
}

}  // namespace

const char* gather_trace(const MpiApi& mpi) noexcept {
  static constinit ShortText<4096> path;
  const OwnCode own;
  int rank = 0, size = 1;
  Word comm = 0;
  mpi.MPI_Comm_rank(mpi.constants.comm_world, &rank);
  mpi.MPI_Comm_size(mpi.constants.comm_world, &size);
  // The program's messages are not met on a communicator of our own.
  comm = split_quietly(mpi, mpi.constants.comm_world);
  if (comm == mpi.constants.comm_null) return nullptr;

  const Bytes mine = own_blocks();
  // MPI counts in int: a rank with more keeps its buffer for the next iotune command.
  std::uint64_t bytes = mine.used > INT_MAX ? 0 : mine.used;
  // Rank 0 says by a size of its own whether it can take the others' blocks.
  const std::size_t table_bytes = static_cast<std::size_t>(size) * 8;
  auto* const sizes =
      rank == 0 ? static_cast<std::uint64_t*>(private_memory(table_bytes)) : nullptr;
  std::uint64_t go = rank == 0 && sizes != nullptr ? 1 : 0;
  mpi.MPI_Bcast(&go, 8, mpi.constants.byte, 0, comm);
  bool written = false;
  if (go != 0) {
    mpi.MPI_Gather(&bytes, 8, mpi.constants.byte, sizes, 8, mpi.constants.byte, 0, comm);
    if (rank == 0 && sizes != nullptr) {
      std::uint64_t sum = 0;
      for (int i = 0; i < size; ++i) sum += sizes[i];
      // Ranks that traced nothing leave no trace behind.
      const bool place = sum > 0 && trace_path(path);
      TraceFile trace(place ? path.c_str() : "/nonexistent/iotune");
      trace.append(mine.memory, mine.used);
      written = receive_all(mpi, comm, size, sizes, trace) && place && trace.finish();
    } else {
      std::uint64_t receiving = 0;
      mpi.MPI_Bcast(&receiving, 8, mpi.constants.byte, 0, comm);
      if (receiving != 0 && bytes > 0) {
        mpi.MPI_Send(mine.memory, static_cast<int>(bytes), mpi.constants.byte, 0, kTag, comm);
      }
    }
    std::uint64_t done = written ? 1 : 0;
    mpi.MPI_Bcast(&done, 8, mpi.constants.byte, 0, comm);
    if (done != 0) mark_joined();
  }
  if (sizes != nullptr) unmap(sizes, table_bytes);
  if (mine.memory != nullptr) unmap(mine.memory, mine.capacity);
  mpi.MPI_Comm_free(&comm);
  return written ? path.c_str() : nullptr;
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
