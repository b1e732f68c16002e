// One process of the replay: its cursor, what it knows, and its requests.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/order/models/happens_before.h"
#include "analyzer/order/replay/collectives.h"
#include "analyzer/order/replay/messages.h"
#include "analyzer/order/replay/order_event.h"
#include "analyzer/order/replay/posted_receives.h"

namespace iotune::analyzer {

// What all processes of a replay share.
struct ReplayState {
  ReplayState(HappensBefore& order, std::size_t processes)
      : result(&order),
        names(processes),
        collectives(order.clocks(), names),
        messages(order.clocks()),
        ended(processes),
        unsure(processes),
        forked(processes),
        last(processes) {}
  ReplayState(const ReplayState&) = delete;

  HappensBefore* result;
  std::vector<std::string> names;  // "rank 3"
  Collectives collectives;
  Messages messages;
  std::vector<char> ended;
  std::vector<char> unsure;      // it is not known of all receives what they got
  std::vector<Snapshot> forked;  // what a child begins with
  std::vector<Snapshot> last;    // what a process ended with
  // Partitioned requests that were made, of senders and of receivers.
  std::map<std::pair<bool, std::vector<std::int64_t>>, std::uint32_t> partitioned;
};

class ProcessLine {
 public:
  // `wanted`: segments whose clocks are kept, rising.
  ProcessLine(ReplayState& state, OrderEventSource& source, std::uint32_t self, CommId world,
              std::vector<std::uint64_t> wanted);

  // Some events, until it waits. False: nothing moved.
  bool go_on(int events);
  bool ended() const { return state_->ended[self_] != 0; }
  // Goes on without what it waits for, where that can never come; false where it may.
  bool release_from_ended();
  void release();

 private:
  // Something that ends later.
  struct Operation {
    enum class Kind : std::uint8_t { kNothing, kSend, kReceive, kCollective };
    Kind kind = Kind::kNothing;
    Posted posted{};
    Part part;
    std::int64_t new_comm = OrderEvent::kNull;
    CommId made = kUnknownComm;  // what new_comm is then
    bool makes_file = false;
  };
  struct Persistent {
    OrderEvent event;
    CommId comm;
    std::uint32_t series = 0;
  };

  bool may_begin();
  void begin();
  bool end();
  void finish();
  void keep_until(std::uint64_t segment);

  Snapshot now() const;
  CommId comm_of(const OrderEvent& event);
  // What the call makes of `comm`.
  CommId made_by(const OrderEvent& event, CommId comm);
  void bind(const Operation& operation, bool is_whole);
  // Something that ends later where it is synchronous.
  Operation send(const OrderEvent& event, CommId comm, std::uint32_t series);
  Operation receive(const OrderEvent& event, CommId comm, std::uint32_t series);
  Operation collective(OrderEvent& event, CommId comm);
  void start(Persistent& request, std::int64_t handle);
  std::uint32_t next_series(const OrderEvent& event, CommId comm);
  // Of a blocking call, or of one that a request belongs to.
  void put(const OrderEvent& event, const Operation& operation);
  void forget(std::int64_t request);
  bool end(Operation& operation);
  // What it waits for now; nullptr: for another process's fork or end.
  Operation* waits_for();
  void unknown(const std::string& reason);

  ReplayState* state_;
  OrderEventSource* source_;
  std::uint32_t self_;
  PostedReceives receives_;
  ClockStore::Row row_;
  OrderEvent event_;
  bool has_event_ = false, begun_ = false, was_forked_;
  std::size_t done_ = 0;  // of the operations that the event ends
  std::vector<Operation> here_;
  std::vector<std::uint64_t> wanted_;
  std::size_t next_wanted_ = 0;
  CommId world_, alone_ = kUnknownComm;
  std::unordered_map<std::int64_t, CommId> comms_, files_;
  std::map<CommOrigin, std::uint64_t> made_;  // how many
  // Neighbours by communicator, of those whose topology is known.
  std::unordered_map<CommId, std::vector<std::int64_t>> neighbours_;
  std::unordered_map<std::int64_t, Operation> active_, probed_;
  std::unordered_map<std::int64_t, Persistent> persistent_;
};

}  // namespace iotune::analyzer
