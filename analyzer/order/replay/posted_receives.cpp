#include "analyzer/order/replay/posted_receives.h"

#include <algorithm>

namespace iotune::analyzer {

PostedReceives::PostedReceives(OrderEventSource& source) {
  source.rewind();
  OrderEvent event;
  while (source.next(event)) follow(event);
  for (const auto& [request, receive] : active_) never_ends(receive);
  active_.clear();
  persistent_.clear();
  std::sort(exceptions_.begin(), exceptions_.end(),
            [](const Exception& a, const Exception& b) { return a.number < b.number; });
}

void PostedReceives::follow(const OrderEvent& event) {
  switch (event.kind) {
    case OrderKind::kSend:
    case OrderKind::kCollective:
    case OrderKind::kMakeComm:
      if (event.request != OrderEvent::kBlocking) forget(event.request);
      break;
    case OrderKind::kReceive:
    case OrderKind::kSendReceive:
      if (event.from == OrderEvent::kProcNull) break;
      if (event.request == OrderEvent::kBlocking) {
        ends({posted_++, is_wildcard(event.from, event.from_tag)}, event.got_source, event.got_tag);
      } else {
        post(event.request, event.from, event.from_tag);
      }
      break;
    case OrderKind::kProbe:
      if (event.from == OrderEvent::kProcNull) break;
      ends({posted_++, is_wildcard(event.from, event.from_tag)}, event.got_source, event.got_tag);
      break;
    case OrderKind::kInitReceive:
      if (event.from != OrderEvent::kProcNull && !event.partitioned) {
        persistent_[event.request] = {event.from, event.from_tag};
      }
      break;
    case OrderKind::kStart:
      for (const std::int64_t request : event.handles) {
        const auto found = persistent_.find(request);
        if (found != persistent_.end()) post(request, found->second.from, found->second.tag);
      }
      break;
    case OrderKind::kComplete:
      for (const Completion& completion : event.completed) {
        const auto found = active_.find(completion.request);
        if (found == active_.end()) continue;
        ends(found->second, completion.source, completion.tag);
        active_.erase(found);
      }
      break;
    case OrderKind::kFreeRequest:
      forget(event.request);
      persistent_.erase(event.request);
      break;
    default:
      break;
  }
}

void PostedReceives::post(std::int64_t request, std::int64_t from, std::int64_t tag) {
  forget(request);
  active_[request] = {posted_++, is_wildcard(from, tag)};
}

void PostedReceives::ends(const Active& receive, std::int64_t source, std::int64_t tag) {
  if (source < 0) {
    exceptions_.push_back({receive.number, 0, 0, ReceiveFate::Kind::kNothing});
  } else if (receive.wildcard) {
    exceptions_.push_back({receive.number, static_cast<std::int32_t>(source),
                           static_cast<std::int32_t>(tag), ReceiveFate::Kind::kGot});
  }
}

void PostedReceives::never_ends(const Active& receive) {
  all_known_ &= !receive.wildcard;
  exceptions_.push_back(
      {receive.number, 0, 0,
       receive.wildcard ? ReceiveFate::Kind::kNothing : ReceiveFate::Kind::kUnread});
}

void PostedReceives::forget(std::int64_t request) {
  const auto found = active_.find(request);
  if (found == active_.end()) return;
  never_ends(found->second);
  active_.erase(found);
}

ReceiveFate PostedReceives::next() {
  const std::uint64_t number = asked_++;
  if (next_ == exceptions_.size() || exceptions_[next_].number != number) return {};
  const Exception& found = exceptions_[next_++];
  return {found.kind, found.source, found.tag};
}

}  // namespace iotune::analyzer
