#include "recorder/read/call_walk.h"

#include <algorithm>
#include <map>
#include <utility>

#include "recorder/read/events_decoder.h"
#include "recorder/read/trace_reader.h"

namespace iotune::recorder {
namespace {

bool is_note(const Call& call) {
  return call.signature() != nullptr && call.signature()->layer == Layer::kIotune;
}

unsigned layer_bit(const Call& call) {
  return call.signature() == nullptr || is_note(call)
             ? 0U
             : 1U << static_cast<unsigned>(call.signature()->layer);
}

}  // namespace

void CallGroup::clear() {
  start_ns = 0;
  position = {};
  calls.clear();
  by_end.clear();
  batches.clear();
}

std::uint64_t ThreadWalk::least_start_ns() const {
  std::uint64_t least = UINT64_MAX;
  for (const EventsPlace* place : places_) least = std::min(least, place->base_ns);
  return least;
}

const Call* ThreadWalk::next_call() {
  while (batch_ == nullptr || next_in_batch_ == batch_->calls.size()) {
    if (next_place_ == places_.size()) return nullptr;
    auto batch = std::make_shared<CallBatch>();
    const std::vector<std::byte> payload = read_payload(*index_, *places_[next_place_++]);
    if (!decode_events(payload, batch->calls, batch->streams)) ++unreadable_;
    batch_ = std::move(batch);
    next_in_batch_ = std::min(skipped_calls_, batch_->calls.size());
    skipped_calls_ = 0;
  }
  return &batch_->calls[next_in_batch_++];
}

// Appends the pending calls to the group that is held. They stand in the order of their ends,
// so each call's inner calls are a run before it, and its place in the order of starts is the
// beginning of that run, behind the calls around it.
void ThreadWalk::complete() {
  const auto base = static_cast<std::uint32_t>(held_.calls.size());
  const auto count = static_cast<std::uint32_t>(pending_.size());
  held_.calls.resize(base + count);
  held_.by_end.resize(base + count);
  begin_.resize(count);
  stack_.clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    begin_[i] = i;
    const unsigned bit = layer_bit(*pending_[i]);
    while (!stack_.empty() && (layers_around(*pending_[stack_.back()]) & bit) != 0) {
      begin_[i] = begin_[stack_.back()];
      stack_.pop_back();
    }
    stack_.push_back(i);
  }
  stack_.clear();  // from here on the beginnings of the calls around
  for (std::uint32_t i = count; i-- > 0;) {
    while (!stack_.empty() && stack_.back() > i) stack_.pop_back();
    const auto place = base + begin_[i] + static_cast<std::uint32_t>(stack_.size());
    held_.calls[place] = pending_[i];
    held_.by_end[base + i] = place;
    stack_.push_back(begin_[i]);
  }
  if (base == 0 && count > 0) {
    latest_start_ns_ = std::max(latest_start_ns_, held_.calls.front()->start_ns);
    held_.start_ns = latest_start_ns_;
    held_.position = {pending_position_.place, pending_position_.call, latest_start_ns_};
  }
  for (auto& batch : pending_batches_) {
    if (held_.batches.empty() || held_.batches.back() != batch) {
      held_.batches.push_back(std::move(batch));
    }
  }
  pending_.clear();
  pending_batches_.clear();
}

bool ThreadWalk::next(CallGroup& group) {
  group.clear();
  while (const Call* const call = next_call()) {
    const bool outermost = layers_around(*call) == 0;
    const bool joins_held = outermost && is_note(*call);
    // With the first call of the next group it is known that no note will follow.
    const bool release = !joins_held && !held_.calls.empty();
    if (release) std::swap(group, held_);
    if (pending_.empty()) pending_position_ = {next_place_ - 1, next_in_batch_ - 1, 0};
    pending_.push_back(call);
    if (pending_batches_.empty() || pending_batches_.back() != batch_) {
      pending_batches_.push_back(batch_);
    }
    if (outermost) complete();
    if (release) return true;
  }
  if (held_.calls.empty()) complete();  // calls whose outermost call was never recorded
  std::swap(group, held_);
  return !group.calls.empty();
}

ProcessWalk::ProcessWalk(const TraceIndex& index, std::size_t process, std::uint64_t until_ns,
                         std::vector<WalkPosition> from)
    : positions_(std::move(from)) {
  std::map<std::uint64_t, std::vector<const EventsPlace*>> by_thread;
  for (const EventsPlace& place : index.processes[process].events) {
    if (place.base_ns < until_ns) by_thread[place.thread].push_back(&place);
  }
  const bool resumes = positions_.size() == by_thread.size();
  if (!resumes) positions_.assign(by_thread.size(), {});
  for (auto& [thread, places] : by_thread) {
    WalkPosition& position = positions_[threads_.size()];
    position.place = std::min(position.place, places.size());
    std::stable_sort(places.begin(), places.end(),
                     [](const auto* a, const auto* b) { return a->epoch < b->epoch; });
    threads_.emplace_back(index, std::move(places), position);
  }
  groups_.resize(threads_.size());
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    if (positions_[i].place == threads_[i].end().place) continue;
    turns_.push({std::max(threads_[i].least_start_ns(), positions_[i].start_ns), i});
  }
}

bool ProcessWalk::next(CallGroup& group) {
  while (!turns_.empty()) {
    const std::size_t thread = turns_.top().thread;
    turns_.pop();
    CallGroup& own = groups_[thread];
    const bool ready = !own.calls.empty();
    if (ready) std::swap(group, own);
    const bool more = threads_[thread].next(own);
    positions_[thread] = more ? own.position : threads_[thread].end();
    if (more) turns_.push({own.start_ns, thread});
    if (ready) return true;
  }
  group.clear();
  return false;
}

std::uint64_t ProcessWalk::unreadable_batches() const {
  std::uint64_t count = 0;
  for (const ThreadWalk& thread : threads_) count += thread.unreadable_batches();
  return count;
}

}  // namespace iotune::recorder
