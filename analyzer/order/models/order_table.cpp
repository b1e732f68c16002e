#include "analyzer/order/models/order_table.h"

#include <algorithm>
#include <iterator>
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
    {"MPI_File_open", kOpensSession | kMeetsFirst | kMpiSyncsIn, kAllToAll},
    {"MPI_File_close", kClose | kMpiSyncsOut, kAllToAll},
    {"MPI_File_sync", kCommits | kMpiSyncsOut | kMpiSyncsIn, kAllToAll},
    {"MPI_File_set_size", 0, kAllToAll},
    {"MPI_File_set_view", 0, kAllToAll},
    {"MPI_File_preallocate", 0, kNothing},
    {"MPI_File_set_info", 0, kNothing},
    {"MPI_File_seek_shared", 0, kNothing},
    {"MPI_File_set_atomicity", 0, kNothing},
};

// What is 0 is of the rank itself: a root need not pass its own.
constexpr CollectiveCall kCollectiveCalls[] = {
    {"MPI_Barrier", kAllToAll, "", false, false},
    {"MPI_Allreduce", kAllToAll, "count", true, true},
    {"MPI_Allgather", kAllToAll, "recvcount", true, true},
    {"MPI_Allgatherv", kAllToAll, "recvcounts", true, false},
    {"MPI_Alltoall", kAllToAll, "recvcount", true, true},
    {"MPI_Alltoallv", kFromSome, "", false, false},
    {"MPI_Alltoallw", kFromSome, "", false, false},
    {"MPI_Reduce_scatter", kAllToAll, "recvcounts", false, true},
    {"MPI_Reduce_scatter_block", kAllToAll, "recvcount", true, true},
    {"MPI_Bcast", kRootToAll, "count", true, true},
    {"MPI_Scatter", kRootToAll, "recvcount", false, true},
    {"MPI_Scatterv", kRootToAll, "recvcount", false, true},
    {"MPI_Reduce", kAllToRoot, "count", true, true},
    {"MPI_Gather", kAllToRoot, "sendcount", true, false},
    {"MPI_Gatherv", kAllToRoot, "sendcount", true, false},
    {"MPI_Scan", kLowerToHigher, "count", true, true},
    {"MPI_Exscan", kLowerToHigher, "count", true, true},
    {"MPI_Neighbor_allgather", kFromSome, "recvcount", false, true, true},
    {"MPI_Neighbor_allgatherv", kFromSome, "sendcount", true, false, true},
    {"MPI_Neighbor_alltoall", kFromSome, "recvcount", false, true, true},
    {"MPI_Neighbor_alltoallv", kNothing, "", false, false},
    {"MPI_Neighbor_alltoallw", kNothing, "", false, false},
};

constexpr CommCall kCommCalls[] = {
    {"MPI_Comm_dup", OrderKind::kMakeComm},
    {"MPI_Comm_idup", OrderKind::kMakeComm},
    {"MPI_Comm_dup_with_info", OrderKind::kMakeComm},
    {"MPI_Comm_idup_with_info", OrderKind::kMakeComm},
    {"MPI_Comm_split", OrderKind::kMakeComm},
    {"MPI_Comm_split_type", OrderKind::kMakeComm},
    {"MPI_Comm_create", OrderKind::kMakeComm},
    {"MPI_Cart_create", OrderKind::kMakeComm},
    {"MPI_Cart_sub", OrderKind::kMakeComm},
    {"MPI_Graph_create", OrderKind::kMakeComm},
    {"MPI_Dist_graph_create", OrderKind::kMakeComm},
    {"MPI_Dist_graph_create_adjacent", OrderKind::kMakeComm},
    {"MPI_Comm_create_group", OrderKind::kMakeGroup},
    {"MPI_Comm_create_from_group", OrderKind::kUnknown},
    {"MPI_Intercomm_create", OrderKind::kUnknown},
    {"MPI_Intercomm_create_from_groups", OrderKind::kUnknown},
    {"MPI_Intercomm_merge", OrderKind::kUnknown},
    {"MPI_Comm_spawn", OrderKind::kUnknown},
    {"MPI_Comm_spawn_multiple", OrderKind::kUnknown},
    {"MPI_Comm_accept", OrderKind::kUnknown},
    {"MPI_Comm_connect", OrderKind::kUnknown},
    {"MPI_Comm_join", OrderKind::kUnknown},
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

bool is_synchronous(std::string_view name) {
  constexpr std::string_view kNames[] = {"MPI_Ssend",   "MPI_Issend",   "MPI_Ssend_init",
                                         "MPI_Ssend_c", "MPI_Issend_c", "MPI_Ssend_init_c"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

bool deletes_name(std::string_view name) {
  return name == "unlink" || name == "unlinkat" || name == "remove" || name == "MPI_File_delete" ||
         name == "H5Fdelete";
}

bool links_name(std::string_view name) {
  return name == "link" || name == "linkat";
}

}  // namespace iotune::analyzer
