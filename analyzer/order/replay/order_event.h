// What one process did that orders it with others.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace iotune::analyzer {

// Which ranks' calls of a collective come before which ranks' ends of it.
enum class CollectiveOrder : std::uint8_t {
  kNothing,
  kAllToAll,
  kRootToAll,
  kAllToRoot,
  kLowerToHigher,  // ranks
  kFromSome        // each rank names those that it gets data from: `sources`
};

enum class OrderKind : std::uint8_t {
  kPlain,  // orders nothing
  kSend,
  kReceive,
  kSendReceive,
  kProbe,  // MPI_Mprobe: takes a message out, request is its handle
  kReceiveProbed,
  kInitSend,  // persistent: request is its handle until it is freed
  kInitReceive,
  kInitCollective,
  kStart,  // of persistent requests: `handles`
  kComplete,
  kFreeRequest,
  kCollective,
  kMakeComm,   // collective on `comm`
  kMakeGroup,  // collective on the communicator that it makes of some of `comm`
  kMakeFile,   // MPI_File_open: new_comm is the file's handle, on which there are collectives then
  kFork,
  kWaitChild,
  kUnknown  // what orders ranks in a way that is not followed
};

struct Completion {
  std::int64_t request;
  std::int64_t source, tag;  // real ones; below 0: nothing was received
};

struct OrderEvent {
  static constexpr std::int64_t kBlocking = INT64_MIN;  // as a request
  // Handles that are the same in all ABIs.
  static constexpr std::int64_t kNull = INT64_MIN, kWorld = INT64_MIN + 1, kSelf = INT64_MIN + 2;
  static constexpr std::int64_t kProcNull = -1, kAnySource = -2, kAnyTag = -1, kUndefined = -32766;
  static constexpr std::int64_t kNothingReceived = -3;

  OrderKind kind = OrderKind::kPlain;
  CollectiveOrder order = CollectiveOrder::kNothing;
  bool gives = true, takes = true;  // of a collective: false where this rank's counts are zero
  bool partitioned = false;
  bool synchronous = false;  // a send that ends when its receive has begun
  bool unfollowed = false;   // what a collective orders is not known
  std::uint64_t number = 0;  // among all events of the process, also those that order nothing
  std::uint64_t inside = 0;  // the events just before it that ran inside it, of a collective
  std::string_view name;     // of the function; its text stays
  std::int64_t request = kBlocking;  // of what begins
  std::int64_t comm = kNull;         // or a file's handle, where on_file
  bool on_file = false;
  std::int64_t new_comm = kNull;
  // Of the communicator that is made: this process's rank, the ranks, and what they have in common;
  // 0: who they are is not known.
  std::int64_t new_rank = -1, new_size = 0, new_members = 0;
  std::int64_t to = kProcNull, tag = 0;         // of a send
  std::int64_t from = kProcNull, from_tag = 0;  // of a receive, as asked for
  std::int64_t got_source = kNothingReceived, got_tag = kNothingReceived;  // where it ends here
  std::int64_t root = 0;
  std::uint32_t process = UINT32_MAX;  // that was forked or has ended
  std::vector<Completion> completed;
  std::vector<std::int64_t> handles;
  // Ranks. Of what makes a communicator with a known topology, the neighbours that give.
  std::vector<std::int64_t> sources;
  bool has_topology = false, keeps_topology = false;
  bool from_neighbours = false;  // `sources` are those of the communicator

  // Keeps the vectors' memory.
  void clear() {
    OrderEvent empty;
    empty.completed.swap(completed);
    empty.handles.swap(handles);
    empty.sources.swap(sources);
    empty.completed.clear();
    empty.handles.clear();
    empty.sources.clear();
    *this = std::move(empty);
  }
};

// Where a process stands in its program.
struct OrderPlace {
  std::uint32_t world = 0;  // processes of one MPI_COMM_WORLD have the same
  std::int64_t rank = -1;   // in it; below 0: the process is in none
  std::int64_t world_size = 0;
  std::uint32_t forked_by = UINT32_MAX;  // its events begin at this process's kFork event
};

// One process's events as a stream; they are gone through twice.
class OrderEventSource {
 public:
  virtual ~OrderEventSource() = default;
  virtual OrderPlace place() const = 0;
  virtual void rewind() = 0;
  // Overwrites `event`. By rising numbers; those that order nothing may be left out. False at the
  // end.
  virtual bool next(OrderEvent& event) = 0;
};

}  // namespace iotune::analyzer
