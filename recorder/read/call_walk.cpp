#include "recorder/read/call_walk.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "recorder/read/trace_blocks/events_decoder.h"
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

void LeftOut::add(const LeftOut& other) {
  calls += other.calls;
  first_ns = std::min(first_ns, other.first_ns);
  last_ns = std::max(last_ns, other.last_ns);
}

void CallGroup::clear() {
  start_ns = 0;
  position = {};
  calls.clear();
  by_end.clear();
  batches.clear();
  left_out = {};
  totals.clear();
  totals_of = nullptr;
}

std::uint64_t ThreadWalk::least_start_ns() const {
  std::uint64_t least = UINT64_MAX;
  for (const EventsPlace* place : places_) least = std::min(least, place->base_ns);
  return least;
}

const Call* ThreadWalk::next_call() {
  while (batch_ == nullptr || next_in_batch_ == batch_->calls.size()) {
    if (!totals_.empty() || next_place_ == places_.size()) return nullptr;
    read_batch();
  }
  return &batch_->calls[next_in_batch_++];
}

std::shared_ptr<CallBatch> ThreadWalk::new_batch() {
  auto batch = std::make_unique<CallBatch>();
  std::swap(batch->calls, spare_->calls);
  batch->calls.clear();
  return {batch.release(), [spare = spare_](CallBatch* done) {
            const std::unique_ptr<CallBatch> owned(done);
            std::swap(spare->calls, owned->calls);
            std::move(owned->streams.begin(), owned->streams.end(),
                      std::back_inserter(spare->streams));
          }};
}

void ThreadWalk::read_batch() {
  const std::shared_ptr<CallBatch> batch = new_batch();
  const EventsPlace& place = *places_[next_place_++];
  const std::vector<std::byte> payload = read_payload(*index_, place);
  const std::vector<std::byte> marks = read_marks(*index_, place);
  // A batch that was left off in its midst had been read call by call.
  const TotalsSuffice none;
  const TotalsSuffice& suffice = skipped_calls_ > 0 ? none : needs_->totals_suffice;
  if (!decode_events(payload, suffice, batch->calls, batch->streams, totals_, marks,
                     &spare_->streams)) {
    ++unreadable_;
  }
  leave_out(*batch);
  batch_ = batch;
  next_in_batch_ = std::min(skipped_calls_, batch_->calls.size());
  skipped_calls_ = 0;
}

void ThreadWalk::leave_out(CallBatch& batch) {
  if (!needs_->left_out || batch.calls.empty()) return;
  std::vector<const CallStream*> streams;
  for (const auto& stream : batch.streams) {
    if (needs_->left_out(*stream)) streams.push_back(stream.get());
  }
  if (streams.empty()) return;
  std::sort(streams.begin(), streams.end());
  LeftOut out;
  const CallStream* known = nullptr;
  bool goes = false, counts = false;
  std::erase_if(batch.calls, [&](const Call& call) {
    if (call.stream != known) {
      known = call.stream;
      goes = std::binary_search(streams.begin(), streams.end(), known);
      counts = goes && !(needs_->ignored && needs_->ignored(*known));
    }
    if (counts) out.add({1, call.start_ns, call.end_ns()});
    return goes;
  });
  // Of a batch in whose midst an earlier walk stood they were counted.
  if (skipped_calls_ > 0 || out.calls == 0) return;
  begin_pending({next_place_ - 1, 0, 0});
  pending_left_out_.add(out);
}

void ThreadWalk::begin_pending(const WalkPosition& at) {
  if (!has_pending_) pending_position_ = at;
  has_pending_ = true;
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
  if (held_.left_out.calls == 0 && base == 0) {
    const std::uint64_t first = count > 0 ? held_.calls.front()->start_ns : 0;
    latest_start_ns_ = std::max(latest_start_ns_, first);
    held_.start_ns = latest_start_ns_;
    held_.position = {pending_position_.place, pending_position_.call, latest_start_ns_};
  }
  for (auto& batch : pending_batches_) {
    if (held_.batches.empty() || held_.batches.back() != batch) {
      held_.batches.push_back(std::move(batch));
    }
  }
  held_.left_out.add(pending_left_out_);
  pending_left_out_ = {};
  has_pending_ = false;
  pending_.clear();
  pending_batches_.clear();
}

// What is whole, else what can be no more.
bool ThreadWalk::release(CallGroup& group) {
  if (held_.empty() && has_pending_) complete();
  if (held_.empty()) return false;
  std::swap(group, held_);
  return true;
}

bool ThreadWalk::next(CallGroup& group) {
  group.clear();
  while (const Call* const call = next_call()) {
    const bool outermost = layers_around(*call) == 0;
    const bool joins_held = outermost && is_note(*call);
    // With the first call of the next group it is known that no note will follow.
    const bool release_held = !joins_held && !held_.calls.empty();
    if (release_held) std::swap(group, held_);
    begin_pending({next_place_ - 1, next_in_batch_ - 1, 0});
    pending_.push_back(call);
    if (pending_batches_.empty() || pending_batches_.back() != batch_) {
      pending_batches_.push_back(batch_);
    }
    if (outermost) complete();
    if (release_held) return true;
  }
  // Calls whose outermost call was never recorded, or is only counted in totals.
  if (release(group)) return true;
  if (totals_.empty()) return false;
  group.totals = std::move(totals_);
  totals_.clear();
  group.totals_of = places_[next_place_ - 1];
  latest_start_ns_ = std::max(latest_start_ns_, group.totals_of->base_ns);
  group.start_ns = latest_start_ns_;
  group.position = {next_place_ - 1, 0, latest_start_ns_};
  return true;
}

ProcessWalk::ProcessWalk(const TraceIndex& index, std::size_t process, std::uint64_t until_ns,
                         std::vector<WalkPosition> from, WalkNeeds needs)
    : index_(&index),
      needs_(std::make_unique<WalkNeeds>(std::move(needs))),
      positions_(std::move(from)) {
  std::map<std::uint64_t, std::vector<const EventsPlace*>> by_thread;
  for (const EventsPlace& place : index.processes[process].events) {
    if (place.base_ns < until_ns) by_thread[place.thread].push_back(&place);
  }
  if (by_thread.size() > 1) needs_->totals_suffice = {};
  const bool resumes = positions_.size() == by_thread.size();
  if (!resumes) positions_.assign(by_thread.size(), {});
  for (auto& [thread, places] : by_thread) {
    WalkPosition& position = positions_[threads_.size()];
    position.place = std::min(position.place, places.size());
    std::stable_sort(places.begin(), places.end(),
                     [](const auto* a, const auto* b) { return a->epoch < b->epoch; });
    threads_.emplace_back(index, std::move(places), position, needs_.get());
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
    const bool ready = !own.empty();
    if (ready) std::swap(group, own);
    const bool more = threads_[thread].next(own);
    positions_[thread] = more ? own.position : threads_[thread].end();
    if (more) turns_.push({own.start_ns, thread});
    if (ready) return true;
  }
  group.clear();
  return false;
}

bool ProcessWalk::calls_of(CallGroup& group) const {
  auto batch = std::make_shared<CallBatch>();
  const std::vector<std::byte> payload = read_payload(*index_, *group.totals_of);
  const std::vector<std::byte> marks = read_marks(*index_, *group.totals_of);
  if (!decode_events(payload, batch->calls, batch->streams, marks)) return false;
  for (const Call& call : batch->calls) {
    group.by_end.push_back(static_cast<std::uint32_t>(group.calls.size()));
    group.calls.push_back(&call);
  }
  group.batches.push_back(std::move(batch));
  group.totals.clear();
  return true;
}

std::uint64_t ProcessWalk::unreadable_batches() const {
  std::uint64_t count = 0;
  for (const ThreadWalk& thread : threads_) count += thread.unreadable_batches();
  return count;
}

}  // namespace iotune::recorder
