#include "recorder/wrappers/mpi/order_comms.h"

#include <algorithm>

#include "core/os/fnv1a.h"

namespace iotune::recorder {
namespace {

bool is(const MpiApi& mpi, Word comm, Word other) noexcept {
  return ((comm ^ other) & mpi.constants.handle_mask) == 0;
}

bool is_inter(const MpiApi& mpi, Word comm) noexcept {
  int inter = 0;
  return mpi.MPI_Comm_test_inter(comm, &inter) != 0 || inter != 0;
}

// False where a member belongs to another world.
bool read_members(const MpiApi& mpi, Word comm, int size, CommMembers& found) noexcept {
  constexpr int kTogether = 64;
  Word group = 0, world = 0;
  if (mpi.MPI_Comm_group(comm, &group) != 0) return false;
  bool whole = mpi.MPI_Comm_group(mpi.constants.comm_world, &world) == 0;
  if (whole) {
    Fnv1a hash;
    for (int first = 0; first < size && whole; first += kTogether) {
      const int count = std::min(size - first, kTogether);
      int ranks[kTogether], in_world[kTogether];
      for (int i = 0; i < count; ++i) ranks[i] = first + i;
      whole = mpi.MPI_Group_translate_ranks(group, count, ranks, world, in_world) == 0;
      for (int i = 0; i < count && whole; ++i) {
        whole = in_world[i] != mpi.constants.undefined;
        for (int byte = 0; byte < 4; ++byte) hash.add(static_cast<char>(in_world[i] >> 8 * byte));
      }
      if (first == 0) found.leader = in_world[0];
    }
    found.members = static_cast<std::int64_t>(hash.value());
    mpi.MPI_Group_free(&world);
  }
  mpi.MPI_Group_free(&group);
  return whole;
}

}  // namespace

bool is_null_comm(Provider& provider, Word comm) noexcept {
  const MpiApi* const mpi = mpi_api(provider);
  return comm == 0 || (mpi != nullptr && is(*mpi, comm, mpi->constants.comm_null));
}

CommMembers members_of(Provider& provider, Word comm) noexcept {
  const OwnCode own;
  CommMembers found;
  const MpiApi* const mpi = mpi_api(provider);
  if (mpi == nullptr || !mpi->constants.known || is(*mpi, comm, mpi->constants.comm_null)) {
    return found;
  }
  int rank = -1, size = 0;
  mpi->MPI_Comm_rank(comm, &rank);
  mpi->MPI_Comm_size(comm, &size);
  found.rank = rank;
  found.size = size;
  // A program of sessions has no world.
  const bool known = world_provider() == &provider && !is_inter(*mpi, comm) &&
                     read_members(*mpi, comm, size, found);
  if (!known) {
    found.leader = kUnknownLeader;
    found.members = 0;
  }
  return found;
}

std::int64_t own_count(Provider& provider, RankCounts given) noexcept {
  const OwnCode own;
  const MpiApi* const mpi = mpi_api(provider);
  int rank = -1;
  if (mpi == nullptr || given.counts == nullptr || is_inter(*mpi, given.comm) ||
      mpi->MPI_Comm_rank(given.comm, &rank) != 0 || rank < 0) {
    return -1;
  }
  return given.large ? static_cast<const std::int64_t*>(given.counts)[rank]
                     : std::int64_t{static_cast<const int*>(given.counts)[rank]};
}

void append_counts(RecordWriter& record, Provider& provider, RankCounts given) noexcept {
  const MpiApi* const mpi = mpi_api(provider);
  int size = 0;
  if (mpi == nullptr || given.counts == nullptr || is_inter(*mpi, given.comm) ||
      mpi->MPI_Comm_size(given.comm, &size) != 0) {
    record.number(std::int64_t{-1});
    return;
  }
  constexpr int kBits = 64;
  record.number(std::int64_t{(size + kBits - 1) / kBits});
  for (int first = 0; first < size; first += kBits) {
    std::uint64_t bits = 0;
    for (int i = first; i < std::min(size, first + kBits); ++i) {
      const bool moves = given.large ? static_cast<const std::int64_t*>(given.counts)[i] != 0
                                     : static_cast<const int*>(given.counts)[i] != 0;
      bits |= std::uint64_t{moves} << (i - first);
    }
    record.number(static_cast<std::int64_t>(bits));
  }
}

}  // namespace iotune::recorder
