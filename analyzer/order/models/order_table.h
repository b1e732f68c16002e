// What calls do to order and in the consistency models: one table, which
// docs/explain/verify-models.md shows.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "analyzer/order/replay/order_event.h"

namespace iotune::analyzer {

// What a call on a file is in the models; a mask.
enum FileRole : std::uint8_t {
  kCommits = 1,
  kOpensSession = 2,
  kClosesSession = 4,
  kMpiSyncsOut = 8,  // what this process wrote leaves it
  kMpiSyncsIn = 16,  // what others wrote comes in
  kMeetsFirst = 32   // its ranks have all begun before it opens the file
};

struct FileCall {
  std::string_view name;
  std::uint8_t roles;
  CollectiveOrder order;  // among the ranks that opened the file together
};

// A collective by its name without I, _init and _c: MPI_Iallgather_c is MPI_Allgather. Those that
// order nothing here order some ranks in truth, and nobody knows which.
struct CollectiveCall {
  std::string_view name;
  CollectiveOrder order;
  std::string_view amount;  // the argument that says how much: 0 is nothing
  bool gives, takes;        // what the rank does not do then
  bool from_neighbours = false;
};

struct CommCall {
  std::string_view name;
  OrderKind kind;  // kMakeComm, kMakeGroup, kUnknown
};

std::span<const FileCall> file_calls();
std::span<const CollectiveCall> collective_calls();
std::span<const CommCall> comm_calls();

// nullptr: the call is nothing of the kind.
const FileCall* file_call(std::string_view name);
const CollectiveCall* collective_call(std::string_view name);
const CommCall* comm_call(std::string_view name);
// Of sends: whether one ends only when its receive has begun.
bool is_synchronous(std::string_view name);
// Of calls that change names of files.
bool deletes_name(std::string_view name);
bool links_name(std::string_view name);

}  // namespace iotune::analyzer
