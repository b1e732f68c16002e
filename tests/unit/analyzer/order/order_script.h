// Programs of ordering events, written down as scripts.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "analyzer/order/models/order_table.h"
#include "analyzer/order/replay/order_event.h"
#include "analyzer/order/replay/replay.h"

namespace iotune::analyzer {

constexpr std::int64_t kWorld = OrderEvent::kWorld;

class Script {
 public:
  OrderEvent& add(OrderKind kind, std::string_view name) {
    OrderEvent event;
    event.kind = kind;
    event.name = name;
    event.number = events.size();
    events.push_back(event);
    return events.back();
  }
  Script& send(std::int64_t to, std::int64_t tag = 0, std::int64_t comm = kWorld,
               std::int64_t request = OrderEvent::kBlocking) {
    OrderEvent& event = add(OrderKind::kSend, "MPI_Send");
    event.comm = comm;
    event.to = to;
    event.tag = tag;
    event.request = request;
    return *this;
  }
  // What it got is what was asked for, where not said otherwise.
  Script& receive(std::int64_t from, std::int64_t tag = 0, std::int64_t comm = kWorld,
                  std::int64_t got_source = -9, std::int64_t got_tag = -9) {
    OrderEvent& event = add(OrderKind::kReceive, "MPI_Recv");
    event.comm = comm;
    event.from = from;
    event.from_tag = tag;
    event.got_source = got_source == -9 ? from : got_source;
    event.got_tag = got_tag == -9 ? tag : got_tag;
    return *this;
  }
  Script& begin_receive(std::int64_t request, std::int64_t from, std::int64_t tag = 0,
                        std::int64_t comm = kWorld) {
    receive(from, tag, comm);
    events.back().request = request;
    events.back().name = "MPI_Irecv";
    return *this;
  }
  Script& complete(std::vector<Completion> completed) {
    add(OrderKind::kComplete, "MPI_Waitall").completed = std::move(completed);
    return *this;
  }
  Script& collective(std::string_view name, std::int64_t comm = kWorld, std::int64_t root = 0,
                     std::int64_t request = OrderEvent::kBlocking) {
    OrderEvent& event = add(OrderKind::kCollective, name);
    event.order = collective_call(name)->order;
    event.comm = comm;
    event.root = root;
    event.request = request;
    return *this;
  }
  Script& barrier(std::int64_t comm = kWorld) { return collective("MPI_Barrier", comm); }
  // A communicator of `size` ranks, in which this process has that rank; below 0: in none.
  // `members` is any number that they have in common.
  Script& make(std::string_view name, std::int64_t new_comm, std::int64_t members,
               std::int64_t rank, std::int64_t size, std::int64_t comm = kWorld) {
    OrderEvent& event = add(comm_call(name)->kind, name);
    event.order = CollectiveOrder::kAllToAll;
    event.comm = comm;
    if (rank < 0) return *this;
    event.new_comm = new_comm;
    event.new_members = members;
    event.new_rank = rank;
    event.new_size = size;
    return *this;
  }
  // A call on file 0, of which this process alone knows.
  Script& on_file(std::string_view name) {
    add(OrderKind::kPlain, name);
    file_events.push_back({0, 0, events.back().number, file_call(name)->roles});
    return *this;
  }
  // A collective of MPI-IO on file 0: of all ranks of the world.
  Script& together(std::string_view name) {
    const bool opens = name == "MPI_File_open";
    on_file(name);
    OrderEvent& event = events.back();
    event.kind = opens ? OrderKind::kMakeFile : OrderKind::kCollective;
    event.order = file_call(name)->order;
    event.on_file = !opens;
    event.comm = opens ? kWorld : 77;
    event.new_comm = opens ? 77 : OrderEvent::kNull;
    return *this;
  }

  std::uint64_t segment() const { return events.size(); }  // that comes next

  std::vector<OrderEvent> events;
  std::vector<FileEvent> file_events;
  std::uint32_t forked_by = UINT32_MAX;
};

class ScriptSource : public OrderEventSource {
 public:
  ScriptSource(const Script& script, std::int64_t rank, std::size_t world_size)
      : script_(&script), rank_(rank), size_(static_cast<std::int64_t>(world_size)) {}
  OrderPlace place() const override {
    OrderPlace place;
    place.rank = script_->forked_by == UINT32_MAX ? rank_ : -1;
    place.world_size = size_;
    place.forked_by = script_->forked_by;
    return place;
  }
  void rewind() override { next_ = 0; }
  bool next(OrderEvent& event) override {
    if (next_ == script_->events.size()) return false;
    event = script_->events[next_++];
    return true;
  }

 private:
  const Script* script_;
  std::int64_t rank_, size_;
  std::size_t next_ = 0;
};

// The clocks of all segments are kept.
inline HappensBefore order_of(const std::vector<Script>& scripts, std::size_t world_size = 0) {
  std::vector<std::unique_ptr<OrderEventSource>> sources;
  ReplayWish wish;
  if (world_size == 0) world_size = scripts.size();
  for (std::uint32_t p = 0; p < scripts.size(); ++p) {
    sources.push_back(std::make_unique<ScriptSource>(scripts[p], p, world_size));
    std::vector<std::uint64_t>& segments = wish.segments.emplace_back();
    for (std::uint64_t i = 0; i <= scripts[p].events.size(); ++i) segments.push_back(i);
    for (FileEvent event : scripts[p].file_events) {
      event.process = p;
      wish.file_events.push_back(event);
    }
  }
  return replay(sources, std::move(wish));
}

}  // namespace iotune::analyzer
