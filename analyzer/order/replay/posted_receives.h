// What each posted receive of a process really got, found by a first pass over its events: which
// message a wildcard takes is known when it is completed, and needed when it is posted.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyzer/order/replay/order_event.h"

namespace iotune::analyzer {

struct ReceiveFate {
  enum class Kind : std::uint8_t {
    kAsAsked,  // the source and tag that it was posted with
    kGot,      // a wildcard: `source` and `tag`
    kNothing,  // cancelled, or a wildcard that was never completed
    kUnread    // its source and tag are given, but it was never completed: orders nothing
  };
  Kind kind = Kind::kAsAsked;
  std::int64_t source = 0, tag = 0;
};

// Receives are numbered in the order in which they are posted; those from MPI_PROC_NULL are none,
// and partitioned ones match by themselves.
class PostedReceives {
 public:
  explicit PostedReceives(OrderEventSource& source);

  // False: some wildcard took a message of which nothing is known, or none.
  bool all_known() const { return all_known_; }

  // The fates in order, one call a receive.
  ReceiveFate next();

  static bool is_wildcard(std::int64_t from, std::int64_t tag) {
    return from == OrderEvent::kAnySource || tag == OrderEvent::kAnyTag;
  }

 private:
  struct Active {
    std::uint64_t number;
    bool wildcard;
  };
  struct Persistent {
    std::int64_t from, tag;
  };
  struct Exception {
    std::uint64_t number;
    std::int32_t source, tag;
    ReceiveFate::Kind kind;
  };
  void follow(const OrderEvent& event);
  void post(std::int64_t request, std::int64_t from, std::int64_t tag);
  void ends(const Active& receive, std::int64_t source, std::int64_t tag);
  void never_ends(const Active& receive);
  void forget(std::int64_t request);

  std::unordered_map<std::int64_t, Active> active_;
  std::unordered_map<std::int64_t, Persistent> persistent_;
  std::vector<Exception> exceptions_;  // all but kAsAsked
  bool all_known_ = true;
  std::uint64_t posted_ = 0, asked_ = 0;
  std::size_t next_ = 0;
};

}  // namespace iotune::analyzer
