#include "analyzer/order/models/order_table.h"

#include <string>
#include <unordered_map>

namespace iotune::analyzer {
namespace {

using enum CollectiveOrder;

constexpr std::uint8_t kClose = kCommits | kClosesSession;

// HDF5's opens and closes have no role: those of POSIX or MPI-IO inside of them have. The standard
// does not say that any MPI_File_* synchronises; VerifyIO counts these five as all to all, and so
// do the usual implementations behave. Collective transfers order nothing, as the standard warns.
constexpr FileCall kFileCalls[] = {
    {"open", kOpensSession, kNothing},
    {"openat", kOpensSession, kNothing},
    {"creat", kOpensSession, kNothing},
    {"mkstemp", kOpensSession, kNothing},
    {"mkostemp", kOpensSession, kNothing},
    {"mkstemps", kOpensSession, kNothing},
    {"mkostemps", kOpensSession, kNothing},
    {"fopen", kOpensSession, kNothing},
    {"freopen", kOpensSession, kNothing},
    {"close", kClose, kNothing},
    {"fclose", kClose, kNothing},
    {"fsync", kCommits, kNothing},
    {"fdatasync", kCommits, kNothing},
    {"syncfs", kCommits, kNothing},
    {"msync", kCommits, kNothing},
    {"H5Fflush", kCommits, kNothing},
    {"MPI_File_open", kOpensSession | kMeetsFirst | kMpiSyncsIn | kEndsAtomic, kAllToAll},
    {"MPI_File_close", kClose | kMpiSyncsOut, kAllToAll},
    {"MPI_File_sync", kCommits | kMpiSyncsOut | kMpiSyncsIn, kAllToAll},
    {"MPI_File_set_size", 0, kAllToAll},
    {"MPI_File_set_view", 0, kAllToAll},
    {"MPI_File_preallocate", 0, kNothing},
    {"MPI_File_set_info", 0, kNothing},
    {"MPI_File_seek_shared", 0, kNothing},
    {"MPI_File_set_atomicity", kSetsAtomic | kEndsAtomic, kNothing},
};

constexpr CollectiveCall kCollectiveCalls[] = {
    {"MPI_Barrier", kAllToAll, ""},
    {"MPI_Allreduce", kAllToAll, "count"},
    {"MPI_Allgather", kAllToAll, "recvcount"},
    {"MPI_Allgatherv", kAllToAll, ""},
    {"MPI_Alltoall", kAllToAll, "sendcount"},
    {"MPI_Alltoallv", kAllToAll, ""},
    {"MPI_Alltoallw", kAllToAll, ""},
    {"MPI_Reduce_scatter", kAllToAll, ""},
    {"MPI_Reduce_scatter_block", kAllToAll, "recvcount"},
    {"MPI_Bcast", kRootToAll, "count"},
    {"MPI_Scatter", kRootToAll, "recvcount"},
    {"MPI_Scatterv", kRootToAll, "recvcount"},
    {"MPI_Reduce", kAllToRoot, "count"},
    {"MPI_Gather", kAllToRoot, "sendcount"},
    {"MPI_Gatherv", kAllToRoot, "sendcount"},
    {"MPI_Scan", kLowerToHigher, "count"},
    {"MPI_Exscan", kLowerToHigher, "count"},
    {"MPI_Neighbor_allgather", kNothing, ""},
    {"MPI_Neighbor_allgatherv", kNothing, ""},
    {"MPI_Neighbor_alltoall", kNothing, ""},
    {"MPI_Neighbor_alltoallv", kNothing, ""},
    {"MPI_Neighbor_alltoallw", kNothing, ""},
};

constexpr CommCall kCommCalls[] = {
    {"MPI_Comm_dup", CommMaking::kCopy, true},
    {"MPI_Comm_idup", CommMaking::kCopy, true},
    {"MPI_Comm_dup_with_info", CommMaking::kCopy, true},
    {"MPI_Comm_idup_with_info", CommMaking::kCopy, true},
    {"MPI_Graph_create", CommMaking::kCopy, true},
    {"MPI_Dist_graph_create", CommMaking::kCopy, true},
    {"MPI_Dist_graph_create_adjacent", CommMaking::kCopy, true},
    {"MPI_Comm_split", CommMaking::kColours, true},
    {"MPI_Comm_split_type", CommMaking::kColours, true},
    {"MPI_Cart_create", CommMaking::kFirst, true},
    {"MPI_Comm_create", CommMaking::kUnknown, true},
    {"MPI_Cart_sub", CommMaking::kUnknown, true},
    {"MPI_Comm_create_group", CommMaking::kUnknown, false},
    {"MPI_Comm_create_from_group", CommMaking::kUnknown, false},
    {"MPI_Intercomm_create", CommMaking::kUnknown, false},
    {"MPI_Intercomm_create_from_groups", CommMaking::kUnknown, false},
    {"MPI_Intercomm_merge", CommMaking::kUnknown, false},
    {"MPI_Comm_spawn", CommMaking::kUnknown, false},
    {"MPI_Comm_spawn_multiple", CommMaking::kUnknown, false},
    {"MPI_Comm_accept", CommMaking::kUnknown, false},
    {"MPI_Comm_connect", CommMaking::kUnknown, false},
    {"MPI_Comm_join", CommMaking::kUnknown, false},
};

template <class Row>
std::unordered_map<std::string_view, const Row*> by_name(std::span<const Row> rows) {
  std::unordered_map<std::string_view, const Row*> result;
  for (const Row& row : rows) result.emplace(row.name, &row);
  return result;
}

}  // namespace

std::span<const FileCall> file_calls() {
  return kFileCalls;
}

std::span<const CollectiveCall> collective_calls() {
  return kCollectiveCalls;
}

std::span<const CommCall> comm_calls() {
  return kCommCalls;
}

const FileCall* file_call(std::string_view name) {
  static const auto rows = by_name(file_calls());
  const auto found = rows.find(name);
  return found == rows.end() ? nullptr : found->second;
}

const CollectiveCall* collective_call(std::string_view name) {
  static const auto rows = by_name(collective_calls());
  std::string plain(name);
  if (plain.ends_with("_c")) plain.resize(plain.size() - 2);
  if (plain.ends_with("_init")) plain.resize(plain.size() - 5);
  // MPI_Iallgather: the I, and the next letter is a capital without it.
  if (plain.starts_with("MPI_I") && plain.size() > 5) {
    plain = "MPI_" + std::string(1, static_cast<char>(plain[5] - 'a' + 'A')) + plain.substr(6);
  }
  const auto found = rows.find(plain);
  return found == rows.end() ? nullptr : found->second;
}

const CommCall* comm_call(std::string_view name) {
  static const auto rows = by_name(comm_calls());
  const auto found = rows.find(name);
  return found == rows.end() ? nullptr : found->second;
}

}  // namespace iotune::analyzer
