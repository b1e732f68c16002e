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

unsigned layers_around(const Call& call) {
  const unsigned layers = call.layers();
  if (call.signature() == nullptr || call.signature()->layer != Layer::kIotune) return layers;
  return layers == 0 ? 0U : layers & ~std::bit_floor(layers);
}

}  // namespace iotune::recorder
