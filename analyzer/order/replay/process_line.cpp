#include "analyzer/order/replay/process_line.h"

#include <algorithm>

namespace iotune::analyzer {

ProcessLine::ProcessLine(ReplayState& state, OrderEventSource& source, std::uint32_t self,
                         CommId world, std::vector<std::uint64_t> wanted)
    : state_(&state),
      source_(&source),
      self_(self),
      receives_(source),
      row_(state.result->clocks().make()),
      was_forked_(source.place().forked_by == UINT32_MAX),
      wanted_(std::move(wanted)),
      world_(world) {
  source.rewind();
  state.unsure[self] = receives_.all_known() ? 0 : 1;
}

Snapshot ProcessLine::now() const {
  return {state_->result->clocks().hold(row_), self_, event_.number + 1};
}

void ProcessLine::unknown(const std::string& reason) {
  state_->result->add_unknown(reason, self_, event_.number);
}

// The clock holds for all segments from the last event on.
void ProcessLine::keep_until(std::uint64_t segment) {
  if (next_wanted_ == wanted_.size() || wanted_[next_wanted_] > segment) return;
  state_->result->keep(self_, wanted_[next_wanted_], row_);
  while (next_wanted_ < wanted_.size() && wanted_[next_wanted_] <= segment) ++next_wanted_;
}

bool ProcessLine::may_begin() {
  if (was_forked_) return true;
  Snapshot& forked = state_->forked[self_];
  if (!forked) return false;
  forked.raise_in(state_->result->clocks(), row_);
  forked.drop(state_->result->clocks());
  was_forked_ = true;
  return true;
}

bool ProcessLine::go_on(int events) {
  if (ended() || !may_begin()) return false;
  bool moved = false;
  for (int i = 0; i < events; ++i) {
    if (!has_event_) {
      event_.clear();
      has_event_ = source_->next(event_);
      if (!has_event_) {
        finish();
        return true;
      }
      begun_ = false;
    }
    if (!begun_) {
      keep_until(event_.number);
      here_.clear();
      done_ = 0;
      begin();
      begun_ = true;
      moved = true;
    }
    if (!end()) return moved;
    has_event_ = false;
    moved = true;
  }
  return moved;
}

void ProcessLine::finish() {
  keep_until(UINT64_MAX);
  state_->last[self_] = {state_->result->clocks().hold(row_), self_, UINT64_MAX};
  state_->ended[self_] = 1;
}

CommId ProcessLine::comm_of(const OrderEvent& event) {
  if (event.comm == OrderEvent::kWorld && !event.on_file) return world_;
  if (event.comm == OrderEvent::kSelf && !event.on_file) {
    if (alone_ == kUnknownComm) {
      alone_ =
          state_->collectives.add(std::make_shared<Members>(std::vector<std::uint32_t>{self_}));
    }
    return alone_;
  }
  const auto& handles = event.on_file ? files_ : comms_;
  const auto found = handles.find(event.comm);
  return found == handles.end() ? kUnknownComm : found->second;
}

CommId ProcessLine::made_by(const OrderEvent& event, CommId comm) {
  const bool is_file = event.kind == OrderKind::kMakeFile;
  if (comm == kUnknownComm || (!is_file && event.new_members == 0)) return kUnknownComm;
  const CommOrigin origin{comm, is_file ? 0 : event.new_members,
                          event.kind == OrderKind::kMakeGroup ? event.tag : 0};
  const std::uint64_t number = made_[origin]++;
  return is_file ? state_->collectives.opened(origin, number)
                 : state_->collectives.made(origin, number, self_, event);
}

void ProcessLine::bind(const Operation& operation, bool is_whole) {
  if (operation.new_comm == OrderEvent::kNull) return;
  (operation.makes_file ? files_ : comms_)[operation.new_comm] =
      is_whole ? operation.made : kUnknownComm;
}

std::uint32_t ProcessLine::next_series(const OrderEvent& event, CommId comm) {
  if (!event.partitioned || comm == kUnknownComm) return 0;
  const Members& members = state_->collectives.members(comm);
  const bool sends = event.kind == OrderKind::kInitSend;
  const std::uint32_t from = sends ? self_ : members.process(event.from);
  const std::uint32_t to = sends ? members.process(event.to) : self_;
  const std::int64_t tag = sends ? event.tag : event.from_tag;
  return ++state_->partitioned[{sends, {comm, from, to, tag}}];
}

ProcessLine::Operation ProcessLine::send(const OrderEvent& event, CommId comm,
                                         std::uint32_t series) {
  Operation result;
  if (event.to == OrderEvent::kProcNull) return result;
  if (comm == kUnknownComm) {
    unknown("messages on communicators whose ranks are not known");
    return result;
  }
  const std::uint32_t to = state_->collectives.members(comm).process(event.to);
  if (!Members::is_process(to)) return result;
  const bool waits = event.synchronous && state_->unsure[to] == 0;
  result.posted = state_->messages.send({comm, self_, to, event.tag, series}, now(), waits);
  if (waits) result.kind = Operation::Kind::kSend;
  return result;
}

ProcessLine::Operation ProcessLine::receive(const OrderEvent& event, CommId comm,
                                            std::uint32_t series) {
  Operation result;
  if (event.from == OrderEvent::kProcNull) return result;
  std::int64_t source = event.from, tag = event.from_tag;
  bool is_read = true;
  if (series == 0 && !event.partitioned) {
    const ReceiveFate fate = receives_.next();
    if (fate.kind == ReceiveFate::Kind::kNothing) return result;
    is_read = fate.kind != ReceiveFate::Kind::kUnread;
    if (fate.kind == ReceiveFate::Kind::kGot) {
      source = fate.source;
      tag = fate.tag;
    }
  }
  if (comm == kUnknownComm) {
    unknown("messages on communicators whose ranks are not known");
    return result;
  }
  const std::uint32_t from = state_->collectives.members(comm).process(source);
  if (!Members::is_process(from)) {
    unknown("messages of ranks that have no record");
    return result;
  }
  result.posted = state_->messages.post({comm, from, self_, tag, series}, now());
  if (is_read) {
    result.kind = Operation::Kind::kReceive;
  } else {
    state_->messages.give_up(result.posted);
  }
  return result;
}

ProcessLine::Operation ProcessLine::collective(OrderEvent& event, CommId comm) {
  Operation result;
  if (event.unfollowed) {
    unknown(std::string(event.name) + " orders processes in a way that is not followed");
  }
  result.new_comm = event.new_comm;
  result.makes_file = event.kind == OrderKind::kMakeFile;
  if (event.kind != OrderKind::kCollective) result.made = made_by(event, comm);
  const auto around = neighbours_.find(comm);
  if (event.has_topology) {
    neighbours_[result.made] = event.sources;
  } else if (event.keeps_topology && around != neighbours_.end()) {
    neighbours_[result.made] = std::vector(around->second);
  }
  if (event.from_neighbours && around != neighbours_.end()) {
    event.sources = around->second;
  } else if (event.from_neighbours) {
    unknown(std::string(event.name) + " on a topology that is not recorded");
    event.takes = false;
  }
  if (event.kind == OrderKind::kMakeGroup) comm = result.made;
  Part part;
  if (comm != kUnknownComm) part = state_->collectives.next_part(comm, self_, event);
  if (part.comm == kUnknownComm) {
    unknown(event.on_file ? "collectives on files whose ranks are not known"
                          : "collectives on communicators whose ranks are not known");
    bind(result, false);
    return result;
  }
  result.kind = Operation::Kind::kCollective;
  result.part = part;
  // What ran inside the call did so behind its begin, which is all that others wait for.
  Snapshot begin = now();
  begin.over -= event.inside;
  const auto wrong = state_->collectives.arrive(part, event, begin);
  if (wrong) unknown(*wrong);
  return result;
}

void ProcessLine::put(const OrderEvent& event, const Operation& operation) {
  if (event.request == OrderEvent::kBlocking) {
    here_.push_back(operation);
    return;
  }
  forget(event.request);
  if (operation.kind != Operation::Kind::kNothing) active_.emplace(event.request, operation);
}

void ProcessLine::forget(std::int64_t request) {
  const auto found = active_.find(request);
  if (found == active_.end()) return;
  if (found->second.kind == Operation::Kind::kReceive) {
    state_->messages.give_up(found->second.posted);
  } else if (found->second.kind == Operation::Kind::kSend) {
    state_->messages.give_up_post(found->second.posted);
  }
  active_.erase(found);
}

void ProcessLine::start(Persistent& request, std::int64_t handle) {
  OrderEvent event = request.event;
  event.request = handle;
  switch (request.event.kind) {
    case OrderKind::kInitSend:
      put(event, send(event, request.comm, request.series));
      break;
    case OrderKind::kInitReceive:
      put(event, receive(event, request.comm, request.series));
      break;
    default:
      event.kind = OrderKind::kCollective;
      put(event, collective(event, request.comm));
      break;
  }
}

void ProcessLine::begin() {
  switch (event_.kind) {
    case OrderKind::kPlain:
    case OrderKind::kComplete:
    case OrderKind::kWaitChild:
      break;
    case OrderKind::kUnknown:
      unknown(std::string(event_.name) + " orders processes in a way that is not followed");
      if (event_.new_comm != OrderEvent::kNull) comms_[event_.new_comm] = kUnknownComm;
      break;
    case OrderKind::kSend:
      put(event_, send(event_, comm_of(event_), 0));
      break;
    case OrderKind::kReceive:
      put(event_, receive(event_, comm_of(event_), 0));
      break;
    case OrderKind::kSendReceive: {
      const CommId comm = comm_of(event_);
      send(event_, comm, 0);
      put(event_, receive(event_, comm, 0));
      break;
    }
    case OrderKind::kProbe: {
      const Operation taken = receive(event_, comm_of(event_), 0);
      if (taken.kind == Operation::Kind::kReceive) probed_[event_.request] = taken;
      break;
    }
    case OrderKind::kReceiveProbed: {
      if (event_.handles.empty()) break;
      const auto found = probed_.find(event_.handles[0]);
      if (found == probed_.end()) break;
      const Operation taken = found->second;
      probed_.erase(found);
      put(event_, taken);
      break;
    }
    case OrderKind::kInitSend:
    case OrderKind::kInitReceive:
    case OrderKind::kInitCollective: {
      const CommId comm = comm_of(event_);
      persistent_[event_.request] = {event_, comm, next_series(event_, comm)};
      break;
    }
    case OrderKind::kStart:
      for (const std::int64_t handle : event_.handles) {
        const auto found = persistent_.find(handle);
        if (found != persistent_.end()) start(found->second, handle);
      }
      break;
    case OrderKind::kFreeRequest:
      forget(event_.request);
      persistent_.erase(event_.request);
      break;
    case OrderKind::kCollective:
    case OrderKind::kMakeComm:
    case OrderKind::kMakeGroup:
    case OrderKind::kMakeFile:
      put(event_, collective(event_, comm_of(event_)));
      break;
    case OrderKind::kFork:
      if (event_.process < state_->forked.size() && !state_->forked[event_.process]) {
        state_->forked[event_.process] = now();
      }
      break;
  }
}

bool ProcessLine::end(Operation& operation) {
  switch (operation.kind) {
    case Operation::Kind::kNothing:
      return true;
    case Operation::Kind::kSend: {
      if (!state_->messages.was_posted(operation.posted)) return false;
      Snapshot posted = state_->messages.take_post(operation.posted);
      if (posted) posted.raise_in(state_->result->clocks(), row_);
      posted.drop(state_->result->clocks());
      return true;
    }
    case Operation::Kind::kReceive: {
      if (!state_->messages.sent(operation.posted)) return false;
      Snapshot sent = state_->messages.take(operation.posted);
      if (sent) sent.raise_in(state_->result->clocks(), row_);
      sent.drop(state_->result->clocks());
      return true;
    }
    case Operation::Kind::kCollective:
      if (!state_->collectives.may_end(operation.part)) return false;
      bind(operation, state_->collectives.end(operation.part, row_));
      return true;
  }
  return true;
}

bool ProcessLine::end() {
  for (; done_ < here_.size(); ++done_) {
    if (!end(here_[done_])) return false;
  }
  if (event_.kind == OrderKind::kComplete) {
    for (; done_ < event_.completed.size(); ++done_) {
      const auto found = active_.find(event_.completed[done_].request);
      if (found == active_.end()) continue;
      if (!end(found->second)) return false;
      active_.erase(found);
    }
  } else if (event_.kind == OrderKind::kWaitChild && event_.process < state_->last.size()) {
    if (state_->ended[event_.process] == 0) return false;
    state_->last[event_.process].raise_in(state_->result->clocks(), row_);
  }
  return true;
}

ProcessLine::Operation* ProcessLine::waits_for() {
  if (done_ < here_.size()) return &here_[done_];
  if (event_.kind != OrderKind::kComplete || done_ >= event_.completed.size()) return nullptr;
  const auto found = active_.find(event_.completed[done_].request);
  return found == active_.end() ? nullptr : &found->second;
}

bool ProcessLine::release_from_ended() {
  const auto has_ended = [&](std::uint32_t process) {
    if (process == Members::kNotYet) return false;
    return process == Members::kAbsent || state_->ended[process] != 0;
  };
  if (!was_forked_) {
    if (!has_ended(source_->place().forked_by)) return false;
    release();
    return true;
  }
  Operation* const operation = waits_for();
  if (operation == nullptr) return false;
  if (operation->kind == Operation::Kind::kSend) {
    if (!has_ended(operation->posted.channel.to)) return false;
  } else if (operation->kind == Operation::Kind::kReceive) {
    if (!has_ended(operation->posted.channel.from)) return false;
  } else {
    const std::vector<std::uint32_t> missing = state_->collectives.missing(operation->part);
    if (std::none_of(missing.begin(), missing.end(), has_ended)) return false;
  }
  release();
  return true;
}

void ProcessLine::release() {
  if (!was_forked_) {
    was_forked_ = true;
    unknown("processes whose fork is not in the trace");
    return;
  }
  Operation* const operation = waits_for();
  if (operation == nullptr) {  // for the end of a child that waits itself
    event_.kind = OrderKind::kPlain;
    unknown("processes that wait for each other");
  } else if (operation->kind == Operation::Kind::kSend) {
    state_->messages.give_up_post(operation->posted);
    operation->kind = Operation::Kind::kNothing;
    unknown("synchronous sends whose receive is not in the trace");
  } else if (operation->kind == Operation::Kind::kReceive) {
    state_->messages.give_up(operation->posted);
    operation->kind = Operation::Kind::kNothing;
    unknown("messages whose send is not in the trace");
  } else {
    const std::vector<std::uint32_t> missing = state_->collectives.missing(operation->part);
    std::string who = "some ranks";
    if (missing.size() == 1) {
      who = Members::is_process(missing[0])  ? state_->names[missing[0]]
            : missing[0] == Members::kAbsent ? "one rank without a record"
                                             : "one rank";
    }
    unknown(std::string(state_->collectives.name(operation->part)) + " of which the call of " +
            who + " is not in the trace");
    state_->collectives.give_up(operation->part);
  }
}

}  // namespace iotune::analyzer
