// Which send each receive got: the k-th send of (communicator, source, tag) belongs to the k-th
// receive posted that got such a message.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyzer/order/replay/communicators.h"
#include "analyzer/order/replay/snapshot.h"

namespace iotune::analyzer {

struct ChannelKey {
  CommId comm;
  std::uint32_t from, to;  // processes
  std::int64_t tag;
  std::uint32_t series = 0;  // of partitioned requests: each pair of them is a channel of its own
  bool operator==(const ChannelKey&) const = default;
};

struct ChannelHash {
  std::size_t operator()(const ChannelKey& key) const;
};

// Place of a receive, or of a send, among those of its channel.
struct Posted {
  ChannelKey channel;
  std::uint64_t number;
};

class Messages {
 public:
  explicit Messages(ClockStore& clocks) : clocks_(&clocks) {}

  // Both take over the snapshot's hold. A synchronous send waits for its receive: take_post() or
  // give_up_post() follows.
  Posted send(const ChannelKey& channel, Snapshot snapshot, bool synchronous);
  Posted post(const ChannelKey& channel, Snapshot snapshot);
  // Whether it was sent already.
  bool sent(const Posted& posted) const;
  // The send's snapshot, which the caller drops. It must have been sent.
  Snapshot take(const Posted& posted);
  // Nobody will take it.
  void give_up(const Posted& posted);
  // The same of a synchronous send: whether its receive was posted, and the receive's snapshot.
  bool was_posted(const Posted& sent) const;
  Snapshot take_post(const Posted& sent);
  void give_up_post(const Posted& sent);

 private:
  struct Slot {
    Snapshot snapshot, post;  // of the send, and of the receive
    bool done = false;        // the receive's part
    bool waits = false;       // the synchronous send's
  };
  struct Channel {
    std::uint64_t base = 0, sends = 0, posts = 0;
    std::size_t head = 0;  // of slots, which begin at number base
    std::vector<Slot> slots;
  };
  static Slot& slot(Channel& channel, std::uint64_t number);
  void drain(Channel& channel);

  ClockStore* clocks_;
  std::unordered_map<ChannelKey, Channel, ChannelHash> channels_;
  std::size_t drained_ = 0;  // how often a channel ran empty since the last sweep
};

}  // namespace iotune::analyzer
