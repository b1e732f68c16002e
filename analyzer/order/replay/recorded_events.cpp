#include "analyzer/order/replay/recorded_events.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "analyzer/order/event_kinds.h"
#include "analyzer/order/replay/call_decoder.h"
#include "recorder/read/call_walk.h"

namespace iotune::analyzer {
namespace {

class RecordedEvents : public OrderEventSource {
 public:
  RecordedEvents(const recorder::TraceIndex& index, std::size_t process, OrderPlace place,
                 CallDecoder decoder)
      : index_(&index), process_(process), place_(place), decoder_(std::move(decoder)) {}

  OrderPlace place() const override { return place_; }

  void rewind() override {
    recorder::WalkNeeds needs;
    if (has_one_thread()) needs.left_out = is_no_event;
    walk_.emplace(*index_, process_, UINT64_MAX, std::vector<recorder::WalkPosition>(),
                  std::move(needs));
    group_.clear();
    at_ = 0;
    number_ = 0;
  }

  // As access_reader does: groups by their starts, the calls inside by their ends.
  bool next(OrderEvent& event) override {
    if (!walk_) rewind();
    for (;;) {
      for (; at_ < group_.by_end.size();) {
        const recorder::Call& call = *group_.calls[group_.by_end[at_++]];
        if (event_kind(call) == EventKind::kNone) continue;
        const std::uint64_t number = number_++;
        event.clear();
        if (!decoder_.decode(call, event)) continue;
        event.number = number;
        if (event.on_file || event.kind == OrderKind::kMakeFile) event.inside = events_inside();
        return true;
      }
      at_ = 0;
      if (!walk_->next(group_)) {
        group_.clear();
        return false;
      }
    }
  }

 private:
  // Of the call of MPI-IO that was just read. Locks belong to a transfer before it that was left
  // out of the walk, and so seem to be inside.
  std::uint64_t events_inside() const {
    const std::uint32_t outer = group_.by_end[at_ - 1];
    std::uint64_t result = 0;
    for (std::size_t at = at_ - 1; at-- > 0 && group_.by_end[at] > outer;) {
      const EventKind kind = event_kind(*group_.calls[group_.by_end[at]]);
      if (kind == EventKind::kLock) break;
      result += kind != EventKind::kNone;
    }
    return result;
  }
  static bool is_no_event(const recorder::CallStream& stream) {
    return stream.signature == nullptr || event_kind_of(*stream.signature) == EventKind::kNone;
  }
  // Threads take turns by the starts of their outermost calls, which must be there then.
  bool has_one_thread() const {
    const auto& events = index_->processes[process_].events;
    return std::all_of(events.begin(), events.end(), [&](const recorder::EventsPlace& place) {
      return place.thread == events.front().thread;
    });
  }

  const recorder::TraceIndex* index_;
  std::size_t process_;
  OrderPlace place_;
  CallDecoder decoder_;
  std::optional<recorder::ProcessWalk> walk_;
  recorder::CallGroup group_;
  std::size_t at_ = 0;
  std::uint64_t number_ = 0;
};

std::string text_of(const recorder::Attributes& attributes, const char* key) {
  const auto found = attributes.find(key);
  return found == attributes.end() ? std::string() : found->second;
}

std::int64_t number_of(const recorder::Attributes& attributes, const char* key,
                       std::int64_t otherwise) {
  const std::string text = text_of(attributes, key);
  return text.empty() ? otherwise : std::strtoll(text.c_str(), nullptr, 10);
}

template <class Key>
std::uint32_t number_for(std::map<Key, std::uint32_t>& numbers, const Key& key) {
  return numbers.emplace(key, static_cast<std::uint32_t>(numbers.size())).first->second;
}

// Number `first` and the following ones are the processes of this trace.
void add_events(const recorder::TraceIndex& index, std::uint32_t first,
                std::map<std::pair<std::size_t, std::string>, std::uint32_t>& worlds,
                std::vector<std::unique_ptr<OrderEventSource>>& to) {
  using HostPid = std::pair<std::string, std::int64_t>;
  const auto by_pid = std::make_shared<std::map<HostPid, std::uint32_t>>();
  for (std::uint32_t p = 0; p < index.processes.size(); ++p) {
    const recorder::Attributes& attributes = index.processes[p].attributes;
    by_pid->emplace(HostPid(text_of(attributes, "host"), number_of(attributes, "pid", -1)),
                    first + p);
  }
  for (std::uint32_t p = 0; p < index.processes.size(); ++p) {
    const recorder::Attributes& attributes = index.processes[p].attributes;
    const std::string host = text_of(attributes, "host");
    OrderPlace place;
    place.world = number_for(worlds, {first, text_of(attributes, "run")});
    place.rank = number_of(attributes, "rank", -1);
    place.world_size = number_of(attributes, "size", 0);
    const auto parent = by_pid->find(HostPid(host, number_of(attributes, "parent", -1)));
    if (parent != by_pid->end() && parent->second != first + p) {
      place.forked_by = parent->second;
      // A child finds its parent's rank in the environment, and is none.
      const recorder::Attributes& above = index.processes[parent->second - first].attributes;
      const bool is_mpis = !text_of(attributes, "mpi").empty() && text_of(above, "mpi").empty();
      if (number_of(above, "rank", -1) == place.rank && !is_mpis) place.rank = -1;
    }
    const auto process_of = [by_pid, host](std::int64_t pid) {
      const auto found = by_pid->find(HostPid(host, pid));
      return found == by_pid->end() ? UINT32_MAX : found->second;
    };
    CallDecoder::FixedComms fixed;
    fixed.world = number_of(attributes, "comm_world", fixed.world);
    fixed.self = number_of(attributes, "comm_self", fixed.self);
    to.push_back(std::make_unique<RecordedEvents>(index, p, place, CallDecoder(process_of, fixed)));
  }
}

}  // namespace

std::vector<std::unique_ptr<OrderEventSource>> recorded_events(
    std::span<const recorder::TraceIndex> traces) {
  std::vector<std::unique_ptr<OrderEventSource>> result;
  std::map<std::pair<std::size_t, std::string>, std::uint32_t> worlds;
  for (const recorder::TraceIndex& index : traces) {
    add_events(index, static_cast<std::uint32_t>(result.size()), worlds, result);
  }
  return result;
}

}  // namespace iotune::analyzer
