// The calls of one process as a stream: a call before those that were made inside it, in the
// order of starts. Memory is needed for one batch of each thread and for the calls inside one
// outermost call, however many calls the process made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "recorder/read/call.h"
#include "recorder/read/trace_blocks/stream_totals.h"
#include "recorder/read/trace_blocks/trace_index.h"

namespace iotune::recorder {

struct CallBatch {
  std::vector<Call> calls;
  CallStreams streams;  // owns what calls point to
};

// What the reader of a walk has no need of. Both may be empty.
struct WalkNeeds {
  // Of a batch of a process with one thread alone: threads take turns call by call.
  TotalsSuffice totals_suffice;
  // Calls of such streams are counted and left out.
  std::function<bool(const CallStream&)> left_out;
  // Of those that are left out: calls that are not even counted.
  std::function<bool(const CallStream&)> ignored;
};

struct LeftOut {
  std::uint64_t calls = 0;
  std::uint64_t first_ns = UINT64_MAX, last_ns = 0;  // after the process's start

  void add(const LeftOut& other);
};

// Where a thread's next group begins.
struct WalkPosition {
  std::size_t place = 0;       // of its batches in the order of their epochs
  std::size_t call = 0;        // of the batch, of those that are not left out
  std::uint64_t start_ns = 0;  // as CallGroup's

  template <class A>
  void archive(A& a) {
    a(place, call, start_ns);
  }
};

// An outermost call, what ran inside it, and the notes that iotune made on its behalf.
struct CallGroup {
  std::uint64_t start_ns = 0;  // never less than that of the thread's group before
  WalkPosition position;
  std::vector<const Call*> calls;
  std::vector<std::uint32_t> by_end;  // the calls' indices in the order in which they ended
  std::vector<std::shared_ptr<const CallBatch>> batches;  // keeps the calls alive
  LeftOut left_out;
  // Of a batch that is only counted in totals; then there are no calls, but by calls_of().
  std::vector<StreamTotals> totals;
  const EventsPlace* totals_of = nullptr;

  // Nothing was read.
  bool empty() const { return calls.empty() && totals.empty() && left_out.calls == 0; }
  void clear();
};

// One thread's batches, decoded when their turn comes.
class ThreadWalk {
 public:
  // Its batches in the order of their epochs.
  ThreadWalk(const TraceIndex& index, std::vector<const EventsPlace*> places,
             const WalkPosition& from, const WalkNeeds* needs)
      : index_(&index),
        needs_(needs),
        places_(std::move(places)),
        next_place_(from.place),
        skipped_calls_(from.call),
        latest_start_ns_(from.start_ns) {}

  // False at the end, with `group` empty.
  bool next(CallGroup& group);
  // No later than any call that is still to come.
  std::uint64_t least_start_ns() const;
  std::uint64_t unreadable_batches() const { return unreadable_; }
  // Behind the last group.
  WalkPosition end() const { return {places_.size(), 0, latest_start_ns_}; }

 private:
  // nullptr before a batch in totals, and at the end.
  const Call* next_call();
  std::shared_ptr<CallBatch> new_batch();
  void read_batch();
  void leave_out(CallBatch& batch);
  void begin_pending(const WalkPosition& at);
  void complete();
  bool release(CallGroup& group);

  const TraceIndex* index_;
  const WalkNeeds* needs_;
  std::vector<const EventsPlace*> places_;
  std::size_t next_place_, next_in_batch_ = 0;
  std::size_t skipped_calls_;  // of the first batch
  std::shared_ptr<CallBatch> batch_;
  // Memory of batches whose calls nobody needs any more: streams may be as many as calls.
  std::shared_ptr<CallBatch> spare_ = std::make_shared<CallBatch>();
  std::vector<StreamTotals> totals_;  // of a batch whose turn has come
  // Calls in the order of their ends whose outermost call has not come yet.
  std::vector<const Call*> pending_;
  bool has_pending_ = false;       // calls, or some that were left out
  WalkPosition pending_position_;  // of the first of them
  LeftOut pending_left_out_;
  std::vector<std::shared_ptr<const CallBatch>> pending_batches_;
  CallGroup held_;  // whole, but notes may follow
  std::uint64_t latest_start_ns_, unreadable_ = 0;
  std::vector<std::uint32_t> begin_, stack_;  // scratch of complete()
};

class ProcessWalk {
 public:
  // Batches that begin at `until_ns` (after the process's start) or later are not read.
  // `from`: where an earlier walk stood (positions()), else the beginning.
  ProcessWalk(const TraceIndex& index, std::size_t process, std::uint64_t until_ns,
              std::vector<WalkPosition> from = {}, WalkNeeds needs = {});

  // The groups of all threads in the order of their starts; false at the end.
  bool next(CallGroup& group);
  // The calls of a group that is only counted in totals, as one group. False on damage.
  bool calls_of(CallGroup& group) const;
  std::uint64_t unreadable_batches() const;
  // Of each thread the group that comes next. What was read before is not needed any more.
  const std::vector<WalkPosition>& positions() const { return positions_; }

 private:
  struct Turn {
    std::uint64_t start_ns;
    std::size_t thread;
    bool operator>(const Turn& other) const {
      return start_ns != other.start_ns ? start_ns > other.start_ns : thread > other.thread;
    }
  };
  const TraceIndex* index_;
  std::unique_ptr<WalkNeeds> needs_;  // stays where it is when the walk moves
  std::vector<ThreadWalk> threads_;
  std::vector<WalkPosition> positions_;
  std::vector<CallGroup> groups_;  // the next one of each thread, once it was decoded
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
};

}  // namespace iotune::recorder
