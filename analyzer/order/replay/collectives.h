// Collectives in progress: the k-th call of each member on a communicator belongs to the same one.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/order/replay/communicators.h"
#include "analyzer/order/replay/order_event.h"
#include "analyzer/order/replay/snapshot.h"

namespace iotune::analyzer {

// A member's part in one.
struct Part {
  CommId comm = kUnknownComm;
  std::uint64_t number = 0;
  std::size_t rank = 0;
  bool takes = true;
};

class Collectives {
 public:
  // `names`: what messages call the processes.
  Collectives(ClockStore& clocks, const std::vector<std::string>& names)
      : clocks_(&clocks), names_(&names) {}

  CommId add(std::shared_ptr<Members> members);
  // The communicator that was made from that for the `number`-th time, in which the process has
  // the event's new rank. kUnknownComm: what its members say does not belong together.
  CommId made(const CommOrigin& origin, std::uint64_t number, std::uint32_t process,
              const OrderEvent& event);
  // The same of a file: each member has the rank that it had before.
  CommId opened(const CommOrigin& origin, std::uint64_t number);
  const Members& members(CommId comm) const { return *comms_[comm].members; }

  // `now` is what the process knows; its hold is taken over. Where the members' calls do not
  // belong together, the reason; the collective orders nothing then.
  std::optional<std::string> arrive(const Part& part, const OrderEvent& event, Snapshot now);
  // Its part in the next one on `comm`.
  Part next_part(CommId comm, std::uint32_t process, const OrderEvent& event);

  // Whether the member's call may end.
  bool may_end(const Part& part) const;
  // Members that it waits for.
  std::vector<std::uint32_t> missing(const Part& part) const;
  std::string_view name(const Part& part) const;
  // Some member never comes: it orders nothing any more.
  void give_up(const Part& part);
  // The member's call ends: what it knows then. False: it was given up.
  bool end(const Part& part, ClockStore::Row& row);

 private:
  struct Instance {
    std::string_view name;
    std::uint32_t first = 0;  // the process that came first
    CollectiveOrder order = CollectiveOrder::kNothing;
    std::int64_t root = 0;
    bool given_up = false;
    std::size_t arrived = 0, ended = 0;
    ClockStore::Row joined = ClockStore::kNone;      // of all that arrived and give something
    ClockStore::Row last = ClockStore::kNone;        // the row that was joined last
    std::vector<char> came;                          // by rank; empty: nobody yet
    std::vector<Snapshot> known;                     // of the root alone, or by rank
    std::vector<std::vector<std::int64_t>> sources;  // by rank: of kFromSome
  };
  struct Comm {
    std::shared_ptr<Members> members;
    std::vector<std::uint64_t> calls;  // by rank
    std::uint64_t base = 0;
    std::deque<Instance> open;
  };
  Instance& instance(const Part& part) {
    Comm& comm = comms_[part.comm];
    return comm.open[static_cast<std::size_t>(part.number - comm.base)];
  }
  const Instance& instance(const Part& part) const {
    const Comm& comm = comms_[part.comm];
    return comm.open[static_cast<std::size_t>(part.number - comm.base)];
  }
  static bool gets_from_all(const Instance& at, std::size_t rank);
  // Calls `take` with the ranks that it gets from where these are not all, until it returns false.
  template <class Take>
  static void each_source(const Instance& at, std::size_t rank, Take take);
  std::vector<std::int64_t> sources_of(const OrderEvent& event, const Part& part) const;
  void join(Instance& at, const Snapshot& now);
  void drop_rows(Instance& at);

  ClockStore* clocks_;
  const std::vector<std::string>* names_;
  std::vector<Comm> comms_;
  std::map<std::pair<CommOrigin, std::uint64_t>, CommId> made_;
};

}  // namespace iotune::analyzer
