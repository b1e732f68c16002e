#include "analyzer/order/event_kinds.h"

#include <cstddef>
#include <string_view>
#include <vector>

namespace iotune::analyzer {
namespace {

using recorder::CallSignature;
using recorder::Thing;
using recorder::Verb;

bool is_part_of_file(Thing thing) {
  switch (thing) {
    case Thing::kFile:
    case Thing::kMapping:
    case Thing::kDataset:
    case Thing::kGroup:
    case Thing::kObject:
      return true;
    default:
      return false;
  }
}

bool is_of_mpi_file(Thing thing) {
  switch (thing) {
    case Thing::kFile:
    case Thing::kView:
    case Thing::kPath:
    case Thing::kRead:
    case Thing::kWrite:
      return true;
    default:
      return false;
  }
}

// A call on a descriptor that does one of many things, as its first number says.
bool has_command(const CallSignature& signature) {
  const auto& arguments = signature.arguments;
  return signature.layer == Layer::kPosix && arguments.size() > 1 && arguments[1].name == "command";
}

EventKind find_kind(const CallSignature& signature) {
  const recorder::CallMeaning& meaning = signature.meaning;
  const Thing thing = meaning.thing;
  const Verb verb = meaning.verb;
  if (signature.layer == Layer::kIotune || signature.transfer) return EventKind::kNone;
  if (signature.layer == Layer::kMpiIo && !is_of_mpi_file(thing)) return EventKind::kMpi;
  if (thing == Thing::kLock || has_command(signature)) return EventKind::kLock;
  if (thing == Thing::kProcess) {
    const bool orders = verb == Verb::kCreates || verb == Verb::kOpens || verb == Verb::kCloses ||
                        verb == Verb::kCompletes;
    return orders ? EventKind::kProcess : EventKind::kNone;
  }
  if (thing == Thing::kFile && meaning.opens()) return EventKind::kOpen;
  if (thing == Thing::kFile && verb == Verb::kCloses) return EventKind::kClose;
  if (verb == Verb::kSyncs && is_part_of_file(thing)) return EventKind::kSync;
  if (verb == Verb::kFlushes && is_part_of_file(thing)) return EventKind::kFlush;
  const bool completes = thing == Thing::kRead || thing == Thing::kWrite;
  if (signature.layer == Layer::kMpiIo && meaning.collective && !completes) {
    return EventKind::kCollective;
  }
  return EventKind::kNone;
}

// fcntl of Linux: F_SETLK, F_SETLKW, F_OFD_SETLK and F_OFD_SETLKW.
bool is_lock(std::int64_t command) {
  return command == 6 || command == 7 || command == 37 || command == 38;
}

}  // namespace

EventKind event_kind_of(const CallSignature& signature) {
  static const std::vector<EventKind> all = [] {
    std::vector<EventKind> kinds;
    for (const CallSignature& one : recorder::call_table()) kinds.push_back(find_kind(one));
    return kinds;
  }();
  return all[static_cast<std::size_t>(&signature - recorder::call_table().data())];
}

bool is_event_by_numbers(const CallSignature& signature) {
  return has_command(signature);
}

EventKind event_kind(const recorder::Call& call) {
  if (call.signature() == nullptr) return EventKind::kNone;
  const EventKind kind = event_kind_of(*call.signature());
  if (kind != EventKind::kLock || !has_command(*call.signature())) return kind;
  return !call.numbers.empty() && is_lock(call.numbers[0]) ? kind : EventKind::kNone;
}

}  // namespace iotune::analyzer
