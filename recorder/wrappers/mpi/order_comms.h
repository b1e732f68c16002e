// What calls that order processes say of communicators: who belongs to one, and which of its ranks
// counts are about. Asked of the MPI by calls that are local.
#pragma once

#include "core/abi/mpi_api.h"
#include "recorder/ring/record_writer.h"

namespace iotune::recorder {

// The extras of a call that makes a communicator. The initial values: MPI_COMM_NULL, or the call
// failed.
struct CommMembers {
  std::int64_t rank = -1, size = 0;  // in an intercommunicator those of the local group
  std::int64_t leader = -1;          // the world's rank of rank 0; kUnknownLeader
  std::int64_t members = 0;          // a hash of all members' ranks in the world, in order
};
// Of an intercommunicator, and where a member belongs to another world.
constexpr std::int64_t kUnknownLeader = -32766;

bool is_null_comm(Provider& provider, Word comm) noexcept;
CommMembers members_of(Provider& provider, Word comm) noexcept;

// One count for each rank of `comm`: int, or std::int64_t if `large`.
struct RankCounts {
  Word comm;
  const void* counts;
  bool large;
};
// This rank's; -1 where it cannot be had.
std::int64_t own_count(Provider& provider, RankCounts given) noexcept;
// An array: of each rank a bit, 64 ranks a number, whether its count is not 0.
void append_counts(RecordWriter& record, Provider& provider, RankCounts given) noexcept;

}  // namespace iotune::recorder
