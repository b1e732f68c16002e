#include "analyzer/order/replay/call_decoder.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/order/event_kinds.h"
#include "analyzer/order/models/order_table.h"
#include "recorder/call_table.h"

namespace iotune::analyzer {
namespace {

using recorder::CallSignature;
using recorder::Thing;
using recorder::Verb;

// Words of a call.
enum Word : std::uint8_t {
  kComm,
  kNewComm,
  kDest,
  kSource,
  kTag,
  kSendTag,
  kReceiveTag,
  kRequest,
  kMessage,
  kGotSource,
  kGotTag,
  kRoot,
  kFile,
  kRequests,
  kStatuses,
  kNewRank,
  kNewSize,
  kNewMembers,
  kDims,
  kPeriods,
  kSources,
  kReorder,
  kCounts,
  kWords
};

constexpr std::string_view kNames[kWords] = {
    "comm",     "newcomm",     "dest",    "source",  "tag",     "sendtag",  "recvtag",   "request",
    "message",  "got_source",  "got_tag", "root",    "file",    "requests", "statuses",  "new_rank",
    "new_size", "new_members", "dims",    "periods", "sources", "reorder",  "recvcounts"};

struct Plan {
  bool is_event = false;
  OrderKind kind = OrderKind::kPlain;
  CollectiveOrder order = CollectiveOrder::kNothing;
  bool partitioned = false, unfollowed = false, on_file = false;
  bool keeps_topology = false, synchronous = false, is_lock = false;
  CollectiveCall collective{};
  std::int8_t amount_place = -1;
  // Among the arguments, behind them the extras; below 0: it has none.
  std::array<std::int8_t, kWords> places{};
};

bool has_argument(const CallSignature& signature, std::string_view name) {
  return std::any_of(
      signature.arguments.begin(), signature.arguments.end(),
      [&](const recorder::ArgumentSignature& argument) { return argument.name == name; });
}

// Messages and requests; false: the call is nothing of the kind.
bool plan_message(const CallSignature& signature, Plan& plan) {
  const recorder::CallMeaning& meaning = signature.meaning;
  const bool is_message = meaning.thing == Thing::kMessage;
  plan.partitioned = has_argument(signature, "partitions") && meaning.persistent;
  if (meaning.verb == Verb::kSends && is_message) {
    plan.kind = meaning.persistent ? OrderKind::kInitSend : OrderKind::kSend;
    plan.synchronous = is_synchronous(signature.name);
  } else if (meaning.verb == Verb::kReceives && is_message) {
    plan.kind = meaning.persistent                   ? OrderKind::kInitReceive
                : has_argument(signature, "message") ? OrderKind::kReceiveProbed
                                                     : OrderKind::kReceive;
  } else if (meaning.verb == Verb::kExchanges) {
    plan.kind = OrderKind::kSendReceive;
  } else if (meaning.verb == Verb::kMatches) {
    plan.kind = OrderKind::kProbe;
  } else if (meaning.verb == Verb::kStarts) {
    plan.kind = OrderKind::kStart;
  } else if (meaning.verb == Verb::kCompletes && meaning.thing == Thing::kRequest) {
    plan.kind = OrderKind::kComplete;
  } else if (meaning.verb == Verb::kFrees && meaning.thing == Thing::kRequest) {
    plan.kind = OrderKind::kFreeRequest;
  } else {
    return false;
  }
  return true;
}

void plan_mpi(const CallSignature& signature, Plan& plan) {
  plan.is_event = true;
  if (const CollectiveCall* const call = collective_call(signature.name)) {
    plan.kind = signature.meaning.persistent ? OrderKind::kInitCollective : OrderKind::kCollective;
    plan.order = call->order;
    plan.unfollowed = call->order == CollectiveOrder::kNothing;
    plan.collective = *call;
  } else if (const CommCall* const made = comm_call(signature.name)) {
    plan.kind = made->kind;
    plan.keeps_topology = signature.meaning.verb == Verb::kDuplicates;
    plan.order = CollectiveOrder::kAllToAll;
  } else if (!plan_message(signature, plan)) {
    plan.kind = OrderKind::kUnknown;
    plan.is_event = signature.meaning.verb == Verb::kOrders;
  }
}

Plan find_plan(const CallSignature& signature) {
  Plan plan;
  const EventKind kind = event_kind_of(signature);
  const recorder::CallMeaning& meaning = signature.meaning;
  if (kind == EventKind::kMpi) {
    plan_mpi(signature, plan);
  } else if (kind == EventKind::kProcess) {
    plan.is_event = meaning.verb == Verb::kCreates || meaning.verb == Verb::kCompletes;
    plan.kind = meaning.verb == Verb::kCreates ? OrderKind::kFork : OrderKind::kWaitChild;
  } else if (kind == EventKind::kLock) {
    plan.is_event = plan.is_lock = true;
    plan.kind = OrderKind::kUnknown;
  } else if (signature.layer == Layer::kMpiIo && kind != EventKind::kNone) {
    const FileCall* const call = file_call(signature.name);
    plan.on_file = true;
    plan.kind = meaning.opens() ? OrderKind::kMakeFile : OrderKind::kCollective;
    plan.order = call == nullptr ? CollectiveOrder::kNothing : call->order;
    plan.is_event = plan.order != CollectiveOrder::kNothing;
  }
  plan.places.fill(-1);
  for (std::uint8_t word = 0; word < kWords; ++word) {
    std::int8_t at = 0;
    const auto look = [&](std::string_view name) {
      if (kNames[word] == name) plan.places[word] = at;
      ++at;
    };
    for (const recorder::ArgumentSignature& argument : signature.arguments) look(argument.name);
    for (const std::string_view extra : signature.extras) look(extra);
  }
  for (std::size_t at = 0; at < signature.arguments.size(); ++at) {
    const std::string_view amount = plan.collective.amount;
    if (!amount.empty() && signature.arguments[at].name == amount) {
      plan.amount_place = static_cast<std::int8_t>(at);
    }
  }
  return plan;
}

const Plan& plan_of(const CallSignature& signature) {
  static const std::vector<Plan> all = [] {
    std::vector<Plan> plans;
    for (const CallSignature& one : recorder::call_table()) plans.push_back(find_plan(one));
    return plans;
  }();
  return all[static_cast<std::size_t>(&signature - recorder::call_table().data())];
}

// The words of one call.
class Words {
 public:
  Words(const Plan& plan, const recorder::CallArguments& arguments)
      : plan_(plan), arguments_(arguments) {}

  std::optional<std::int64_t> number(Word word) const {
    const std::span<const std::int64_t> found = numbers(word);
    return found.size() == 1 ? std::optional(found[0]) : std::nullopt;
  }
  std::int64_t number(Word word, std::int64_t otherwise) const {
    return number(word).value_or(otherwise);
  }
  std::span<const std::int64_t> numbers(Word word) const {
    const std::int8_t place = plan_.places[word];
    if (place < 0) return {};
    const auto at = static_cast<std::size_t>(place);
    if (at < arguments_.values.size()) return arguments_.values[at].numbers;
    const std::size_t extra = at - arguments_.values.size();
    if (extra >= arguments_.extras.size()) return {};
    return arguments_.extras.subspan(extra, 1);
  }

  bool has_no_amount() const {
    if (plan_.amount_place < 0) return false;
    const auto& numbers = arguments_.values[static_cast<std::size_t>(plan_.amount_place)].numbers;
    return numbers.size() == 1 && numbers[0] == 0;
  }

 private:
  const Plan& plan_;
  const recorder::CallArguments& arguments_;
};

void decode_requests(const Words& words, OrderEvent& event) {
  const std::span<const std::int64_t> requests = words.numbers(kRequests);
  const std::span<const std::int64_t> statuses = words.numbers(kStatuses);
  if (const auto request = words.number(kRequest)) {
    event.completed.push_back({*request, words.number(kGotSource, OrderEvent::kNothingReceived),
                               words.number(kGotTag, OrderEvent::kNothingReceived)});
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const bool has_status = 2 * i + 1 < statuses.size();
    event.completed.push_back({requests[i],
                               has_status ? statuses[2 * i] : OrderEvent::kNothingReceived,
                               has_status ? statuses[2 * i + 1] : OrderEvent::kNothingReceived});
  }
}

// Ranks in row-major order, as MPI_Cart_create numbers them.
void add_grid_neighbours(std::span<const std::int64_t> extents,
                         std::span<const std::int64_t> periods, std::int64_t rank,
                         std::vector<std::int64_t>& to) {
  std::int64_t stride = 1;
  for (std::size_t d = extents.size(); d-- > 0 && extents[d] > 0; stride *= extents[d]) {
    const std::int64_t here = rank / stride % extents[d];
    for (const std::int64_t there : {here - 1, here + 1}) {
      const std::int64_t around = (there + extents[d]) % extents[d];
      if (around != there && (d >= periods.size() || periods[d] == 0)) continue;
      to.push_back(rank + (around - here) * stride);
    }
  }
}

void decode_new_comm(const Plan& plan, const Words& words, OrderEvent& event) {
  event.new_rank = words.number(kNewRank, -1);
  event.new_size = words.number(kNewSize, 0);
  event.new_members = words.number(kNewMembers, 0);
  event.keeps_topology = plan.keeps_topology;
  if (event.new_rank < 0) {  // it is in none of them
    event.new_comm = OrderEvent::kNull;
  } else if (plan.places[kDims] >= 0) {
    event.has_topology = true;
    add_grid_neighbours(words.numbers(kDims), words.numbers(kPeriods), event.new_rank,
                        event.sources);
  } else if (plan.places[kSources] >= 0 && words.number(kReorder, 1) == 0) {
    event.has_topology = true;
    const std::span<const std::int64_t> sources = words.numbers(kSources);
    event.sources.assign(sources.begin(), sources.end());
  }
}

void decode_collective(const Plan& plan, const Words& words, OrderEvent& event) {
  event.from_neighbours = plan.collective.from_neighbours;
  if (words.has_no_amount()) {
    event.gives = !plan.collective.gives;
    event.takes = !plan.collective.takes;
  }
  if (plan.order != CollectiveOrder::kFromSome || event.from_neighbours) return;
  constexpr std::int64_t kBits = 64;  // a bit for each rank
  const std::span<const std::int64_t> counts = words.numbers(kCounts);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    for (std::int64_t bit = 0; bit < kBits; ++bit) {
      const bool moves = (static_cast<std::uint64_t>(counts[i]) >> bit & 1U) != 0;
      if (moves) event.sources.push_back(static_cast<std::int64_t>(i) * kBits + bit);
    }
  }
}

}  // namespace

std::int64_t CallDecoder::comm_of(std::int64_t handle) const {
  if (handle == fixed_.world) return OrderEvent::kWorld;
  if (handle == fixed_.self) return OrderEvent::kSelf;
  return handle;
}

bool CallDecoder::decode(const recorder::Call& call, OrderEvent& event) {
  const CallSignature* const signature = call.signature();
  if (signature == nullptr) return false;
  const Plan& plan = plan_of(*signature);
  if (!plan.is_event || !read_arguments(call, arguments_)) return false;
  if (plan.is_lock && call.layers() != 0) return false;  // a library's own
  const Words words(plan, arguments_);
  const std::int64_t result = arguments_.result.value_or(-1);
  event.kind = plan.kind;
  event.name = signature->name;
  if (plan.kind == OrderKind::kFork || plan.kind == OrderKind::kWaitChild) {
    if (result <= 0) return false;
    event.process = process_of_(result);
    return event.process != UINT32_MAX;
  }
  if (result != 0 && plan.kind != OrderKind::kComplete) return false;
  event.order = plan.order;
  event.partitioned = plan.partitioned;
  event.synchronous = plan.synchronous;
  event.unfollowed = plan.unfollowed;
  event.on_file = plan.on_file && plan.kind != OrderKind::kMakeFile;
  event.request = words.number(kRequest, OrderEvent::kBlocking);
  event.comm = event.on_file ? words.number(kFile, OrderEvent::kNull)
                             : comm_of(words.number(kComm, OrderEvent::kNull));
  event.new_comm =
      words.number(plan.kind == OrderKind::kMakeFile ? kFile : kNewComm, OrderEvent::kNull);
  event.to = words.number(kDest, OrderEvent::kProcNull);
  event.tag = words.number(kSendTag).value_or(words.number(kTag, 0));
  event.from = words.number(kSource, OrderEvent::kProcNull);
  event.from_tag = words.number(kReceiveTag).value_or(words.number(kTag, 0));
  event.got_source = words.number(kGotSource, OrderEvent::kNothingReceived);
  event.got_tag = words.number(kGotTag, OrderEvent::kNothingReceived);
  event.root = words.number(kRoot, 0);
  if (plan.places[kNewRank] >= 0) decode_new_comm(plan, words, event);
  if (!plan.collective.name.empty()) decode_collective(plan, words, event);
  switch (plan.kind) {
    case OrderKind::kComplete:
      decode_requests(words, event);
      break;
    case OrderKind::kStart:
      for (const Word word : {kRequest, kRequests}) {
        const std::span<const std::int64_t> requests = words.numbers(word);
        event.handles.insert(event.handles.end(), requests.begin(), requests.end());
      }
      break;
    case OrderKind::kProbe:
      event.request = words.number(kMessage, 0);
      break;
    case OrderKind::kReceiveProbed:
      event.handles.push_back(words.number(kMessage, 0));
      break;
    default:
      break;
  }
  return true;
}

}  // namespace iotune::analyzer
