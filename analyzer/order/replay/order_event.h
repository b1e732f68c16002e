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
  kLowerToHigher  // ranks
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
  kMakeComm,  // collective on `comm`
  kMakeFile,  // MPI_File_open: new_comm is the file's handle, on which there are collectives then
  kFork,
  kWaitChild,
  kUnknown  // what orders ranks in a way that is not followed
};

enum class CommMaking : std::uint8_t {
  kCopy,     // the same ranks in the same order
  kColours,  // by colour, in the order of key and old rank
  kFirst,    // so many of the first ranks as `key` says
  kUnknown
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
  CommMaking making = CommMaking::kUnknown;
  bool gives = true, takes = true;  // of a collective: false where this rank's counts are zero
  bool partitioned = false;
  bool unfollowed = false;   // what a collective orders is not known
  std::uint64_t number = 0;  // among all events of the process, also those that order nothing
  std::uint64_t inside = 0;  // the events just before it that ran inside it, of a collective
  std::string_view name;     // of the function; its text stays
  std::int64_t request = kBlocking;  // of what begins
  std::int64_t comm = kNull;         // or a file's handle, where on_file
  bool on_file = false;
  std::int64_t new_comm = kNull;
  std::int64_t to = kProcNull, tag = 0;         // of a send
  std::int64_t from = kProcNull, from_tag = 0;  // of a receive, as asked for
  std::int64_t got_source = kNothingReceived, got_tag = kNothingReceived;  // where it ends here
  std::int64_t root = 0, colour = 0, key = 0;
  std::uint32_t process = UINT32_MAX;  // that was forked or has ended
  std::vector<Completion> completed;
  std::vector<std::int64_t> handles;

  // Keeps the vectors' memory.
  void clear() {
    std::vector<Completion> kept_completed = std::move(completed);
    std::vector<std::int64_t> kept_handles = std::move(handles);
    kept_completed.clear();
    kept_handles.clear();
    *this = OrderEvent();
    completed = std::move(kept_completed);
    handles = std::move(kept_handles);
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
