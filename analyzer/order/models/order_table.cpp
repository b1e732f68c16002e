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
    {"MPI_File_open", kOpensSession | kMpiSyncsIn | kEndsAtomic, kAllToAll},
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
    {"MPI_Barrier", kAllToAll},
    {"MPI_Allreduce", kAllToAll},
    {"MPI_Allgather", kAllToAll},
    {"MPI_Allgatherv", kAllToAll},
    {"MPI_Alltoall", kAllToAll},
    {"MPI_Alltoallv", kAllToAll},
    {"MPI_Alltoallw", kAllToAll},
    {"MPI_Reduce_scatter", kAllToAll},
    {"MPI_Reduce_scatter_block", kAllToAll},
    {"MPI_Bcast", kRootToAll},
    {"MPI_Scatter", kRootToAll},
    {"MPI_Scatterv", kRootToAll},
    {"MPI_Reduce", kAllToRoot},
    {"MPI_Gather", kAllToRoot},
    {"MPI_Gatherv", kAllToRoot},
    {"MPI_Scan", kLowerToHigher},
    {"MPI_Exscan", kLowerToHigher},
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

}  // namespace iotune::analyzer
