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

// Place of a receive among those of its channel.
struct Posted {
  ChannelKey channel;
  std::uint64_t number;
};

class Messages {
 public:
  explicit Messages(ClockStore& clocks) : clocks_(&clocks) {}

  // Takes over the snapshot's hold.
  void send(const ChannelKey& channel, Snapshot snapshot);
  Posted post(const ChannelKey& channel);
  // Whether it was sent already.
  bool sent(const Posted& posted) const;
  // The send's snapshot, which the caller drops. It must have been sent.
  Snapshot take(const Posted& posted);
  // Nobody will take it.
  void give_up(const Posted& posted);

 private:
  struct Slot {
    Snapshot snapshot;
    bool done = false;
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
