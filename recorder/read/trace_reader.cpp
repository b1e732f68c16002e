#include "recorder/read/trace_reader.h"

#include <algorithm>
#include <bit>
#include <map>
#include <queue>
#include <utility>

#include "recorder/read/losses.h"
#include "recorder/read/trace_blocks/events_decoder.h"

namespace iotune::recorder {
namespace {

// Threads as sequences of calls, merged by the time at which each call ended.
std::vector<Call> merged(std::vector<std::vector<Call>> threads) {
  if (threads.size() == 1) return std::move(threads.front());
  struct Cursor {
    std::uint64_t time;  // largest end in this thread so far
    std::size_t thread, next;
    bool operator>(const Cursor& other) const {
      return std::pair(time, thread) > std::pair(other.time, other.thread);
    }
  };
  std::priority_queue<Cursor, std::vector<Cursor>, std::greater<>> queue;
  std::size_t total = 0;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    total += threads[i].size();
    if (!threads[i].empty()) queue.push({threads[i][0].end_ns(), i, 0});
  }
  std::vector<Call> calls;
  calls.reserve(total);
  while (!queue.empty()) {
    Cursor cursor = queue.top();
    queue.pop();
    const std::vector<Call>& thread = threads[cursor.thread];
    calls.push_back(thread[cursor.next]);
    if (++cursor.next == thread.size()) continue;
    cursor.time = std::max(cursor.time, thread[cursor.next].end_ns());
    queue.push(cursor);
  }
  return calls;
}

}  // namespace

Result<TraceReader> TraceReader::open(const std::string& path) {
  Result<TraceIndex> index = index_trace(path);
  if (!index) return index.error();
  return TraceReader(std::move(*index));
}

ProcessHead TraceReader::head(std::size_t process) const {
  const ProcessSection& section = index_.processes[process];
  std::uint64_t calls = 0;
  for (const EventsPlace& place : section.events) calls += place.calls;
  return {section.attributes, section.end, section.alive, section.dropped, calls};
}

ProcessCalls TraceReader::read(std::size_t process) const {
  const ProcessSection& section = index_.processes[process];
  ProcessCalls result;
  result.attributes = section.attributes;
  result.end = section.end;
  result.alive = section.alive;
  result.dropped = section.dropped;
  result.damage = section.damage;

  std::map<std::uint64_t, std::vector<const EventsPlace*>> by_thread;
  for (const EventsPlace& place : section.events) by_thread[place.thread].push_back(&place);
  std::vector<std::vector<Call>> threads;
  std::uint64_t unreadable = 0;
  for (auto& [thread, places] : by_thread) {
    std::stable_sort(places.begin(), places.end(),
                     [](const auto* a, const auto* b) { return a->epoch < b->epoch; });
    std::vector<Call> calls;
    for (const EventsPlace* place : places) {
      const std::vector<std::byte> payload = read_payload(index_, *place);
      const std::vector<std::byte> marks = read_marks(index_, *place);
      if (!decode_events(payload, calls, result.streams, marks)) ++unreadable;
    }
    threads.push_back(std::move(calls));
  }
  if (unreadable > 0) {
    result.damage.push_back(unreadable_text(unreadable));
  }
  if (!threads.empty()) result.calls = merged(std::move(threads));
  return result;
}

namespace {

// Puts one thread's calls, fed in the order of their ends, into groups: an outermost call, then
// what ran inside it in the order of starts.
class Nesting {
 public:
  explicit Nesting(const std::vector<Call>& calls) : calls_(calls) {}

  // Appends to `order` the group that ends with this call, if it is an outermost one.
  bool feed(std::size_t index, std::vector<std::size_t>& order) {
    const Call& call = calls_[index];
    const CallSignature* const signature = call.signature();
    const unsigned bit = signature == nullptr || signature->layer == Layer::kIotune
                             ? 0U
                             : 1U << static_cast<unsigned>(signature->layer);
    std::size_t keep = waiting_.size();
    while (keep > 0 && (layers_around(calls_[waiting_[keep - 1].call]) & bit) != 0) --keep;
    std::vector<std::size_t> group{index};
    for (std::size_t i = keep; i < waiting_.size(); ++i) {
      group.insert(group.end(), waiting_[i].group.begin(), waiting_[i].group.end());
    }
    waiting_.resize(keep);
    if (layers_around(call) != 0) {
      waiting_.push_back({index, std::move(group)});
      return false;
    }
    flush(order);
    order.insert(order.end(), group.begin(), group.end());
    return true;
  }

  // Calls whose outer call was never recorded.
  void flush(std::vector<std::size_t>& order) {
    for (const Waiting& lost : waiting_) {
      order.insert(order.end(), lost.group.begin(), lost.group.end());
    }
    waiting_.clear();
  }

  std::uint64_t latest_start = 0;

 private:
  struct Waiting {
    std::size_t call;
    std::vector<std::size_t> group;
  };
  const std::vector<Call>& calls_;
  std::vector<Waiting> waiting_;
};

struct Group {
  std::uint64_t start;  // never less than that of the thread's group before
  std::size_t begin, end;
};

}  // namespace

unsigned layers_around(const Call& call) {
  const unsigned layers = call.layers();
  if (call.signature() == nullptr || call.signature()->layer != Layer::kIotune) return layers;
  return layers == 0 ? 0U : layers & ~std::bit_floor(layers);
}

std::vector<std::size_t> start_order(const std::vector<Call>& calls) {
  std::map<std::uint32_t, Nesting> threads;
  std::vector<std::size_t> order;
  std::vector<Group> groups;
  order.reserve(calls.size());
  const auto close_group = [&](Nesting& thread, std::size_t begin) {
    if (begin == order.size()) return;
    thread.latest_start = std::max(thread.latest_start, calls[order[begin]].start_ns);
    groups.push_back({thread.latest_start, begin, order.size()});
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Nesting& thread = threads.try_emplace(calls[i].thread, calls).first->second;
    const std::size_t begin = order.size();
    if (thread.feed(i, order)) close_group(thread, begin);
  }
  for (auto& [number, thread] : threads) {
    const std::size_t begin = order.size();
    thread.flush(order);
    close_group(thread, begin);
  }
  if (threads.size() < 2) return order;
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.start < b.start; });
  std::vector<std::size_t> sorted;
  sorted.reserve(order.size());
  for (const Group& group : groups) {
    sorted.insert(sorted.end(), order.begin() + static_cast<std::ptrdiff_t>(group.begin),
                  order.begin() + static_cast<std::ptrdiff_t>(group.end));
  }
  return sorted;
}

}  // namespace iotune::recorder
