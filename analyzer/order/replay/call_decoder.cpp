#include "analyzer/order/replay/call_decoder.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <set>
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

// Words of a call, each under the names that calls give it.
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
  kColour,
  kKey,
  kCount,
  kSendCount,
  kReceiveCount,
  kFile,
  kRequests,
  kStatuses,
  kDims,
  kSplitType,
  kWords
};

const std::initializer_list<std::string_view> kNames[kWords] = {
    {"comm", "comm_old", "intracomm", "local_comm", "intercomm"},
    {"newcomm", "comm_cart", "comm_graph", "comm_dist_graph", "newintracomm", "newintercomm"},
    {"dest"},
    {"source"},
    {"tag"},
    {"sendtag"},
    {"recvtag"},
    {"request"},
    {"message"},
    {"got_source"},
    {"got_tag"},
    {"root"},
    {"color"},
    {"key"},
    {"count"},
    {"sendcount"},
    {"recvcount"},
    {"file"},
    {"requests"},
    {"statuses"},
    {"dims"},
    {"split_type"},
};

struct Plan {
  bool is_event = false;
  OrderKind kind = OrderKind::kPlain;
  CollectiveOrder order = CollectiveOrder::kNothing;
  CommMaking making = CommMaking::kUnknown;
  bool partitioned = false, unfollowed = false, on_file = false, of_node = false;
  Word amount = kWords;  // 0 of it: this rank has nothing to give, or to get from a root
  // Among the arguments, behind them the extras; below 0: it has none.
  std::array<std::int8_t, kWords> places{};
};

// MPI_Isend_c is Send.
std::string plain_name(std::string_view name) {
  std::string result(name.substr(4));
  if (result.ends_with("_c")) result.resize(result.size() - 2);
  return result;
}

bool is_among(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Word amount_of(std::string_view collective) {
  if (is_among(collective,
               {"MPI_Bcast", "MPI_Reduce", "MPI_Allreduce", "MPI_Scan", "MPI_Exscan"})) {
    return kCount;
  }
  if (is_among(collective, {"MPI_Gather", "MPI_Gatherv", "MPI_Alltoall"})) return kSendCount;
  if (is_among(collective,
               {"MPI_Scatter", "MPI_Scatterv", "MPI_Allgather", "MPI_Reduce_scatter_block"})) {
    return kReceiveCount;
  }
  return kWords;
}

void plan_mpi(const CallSignature& signature, Plan& plan) {
  const std::string name = plain_name(signature.name);
  const auto is = [&](std::initializer_list<std::string_view> names) {
    return is_among(name, names);
  };
  const CollectiveCall* const collective = collective_call(signature.name);
  plan.is_event = true;
  if (is({"Send", "Bsend", "Ssend", "Rsend", "Isend", "Ibsend", "Issend", "Irsend"})) {
    plan.kind = OrderKind::kSend;
  } else if (is({"Recv", "Irecv"})) {
    plan.kind = OrderKind::kReceive;
  } else if (is({"Sendrecv", "Sendrecv_replace", "Isendrecv", "Isendrecv_replace"})) {
    plan.kind = OrderKind::kSendReceive;
  } else if (is({"Mprobe", "Improbe"})) {
    plan.kind = OrderKind::kProbe;
  } else if (is({"Mrecv", "Imrecv"})) {
    plan.kind = OrderKind::kReceiveProbed;
  } else if (is({"Send_init", "Bsend_init", "Ssend_init", "Rsend_init", "Psend_init"})) {
    plan.kind = OrderKind::kInitSend;
    plan.partitioned = name == "Psend_init";
  } else if (is({"Recv_init", "Precv_init"})) {
    plan.kind = OrderKind::kInitReceive;
    plan.partitioned = name == "Precv_init";
  } else if (is({"Start", "Startall"})) {
    plan.kind = OrderKind::kStart;
  } else if (is({"Wait", "Test", "Waitall", "Testall", "Waitany", "Testany", "Waitsome",
                 "Testsome"})) {
    plan.kind = OrderKind::kComplete;
  } else if (name == "Request_free") {
    plan.kind = OrderKind::kFreeRequest;
  } else if (collective != nullptr) {
    plan.kind = name.ends_with("_init") ? OrderKind::kInitCollective : OrderKind::kCollective;
    plan.order = collective->order;
    plan.amount = amount_of(collective->name);
  } else if (name.starts_with("Neighbor_") || name.starts_with("Ineighbor_")) {
    plan.kind = name.ends_with("_init") ? OrderKind::kInitCollective : OrderKind::kCollective;
    plan.unfollowed = true;
  } else if (is({"Comm_dup", "Comm_idup", "Comm_dup_with_info", "Comm_idup_with_info",
                 "Graph_create", "Dist_graph_create", "Dist_graph_create_adjacent"})) {
    plan.kind = OrderKind::kMakeComm;
    plan.making = CommMaking::kCopy;
  } else if (is({"Comm_split", "Comm_split_type"})) {
    plan.kind = OrderKind::kMakeComm;
    plan.making = CommMaking::kColours;
    plan.of_node = name == "Comm_split_type";
  } else if (name == "Cart_create") {
    plan.kind = OrderKind::kMakeComm;
    plan.making = CommMaking::kFirst;
  } else if (is({"Comm_create", "Cart_sub"})) {
    plan.kind = OrderKind::kMakeComm;
  } else if (is({"Comm_create_group", "Comm_create_from_group", "Intercomm_create",
                 "Intercomm_create_from_groups", "Intercomm_merge", "Comm_spawn",
                 "Comm_spawn_multiple", "Comm_accept", "Comm_connect", "Comm_join"}) ||
             name.starts_with("Win_")) {
    plan.kind = OrderKind::kUnknown;
  } else {
    plan.is_event = false;
  }
  if (plan.kind == OrderKind::kMakeComm) plan.order = CollectiveOrder::kAllToAll;
}

Plan find_plan(const CallSignature& signature) {
  Plan plan;
  const EventKind kind = event_kind_of(signature);
  if (kind == EventKind::kMpi) {
    plan_mpi(signature, plan);
  } else if (signature.name.starts_with("MPI_File_") && kind != EventKind::kNone) {
    const FileCall* const call = file_call(signature.name);
    plan.on_file = true;
    plan.kind = signature.name == "MPI_File_open" ? OrderKind::kMakeFile : OrderKind::kCollective;
    plan.order = call == nullptr ? CollectiveOrder::kNothing : call->order;
    plan.is_event = plan.order != CollectiveOrder::kNothing;
  } else if (is_among(signature.name, {"fork", "vfork"})) {
    plan.kind = OrderKind::kFork;
    plan.is_event = true;
  } else if (is_among(signature.name, {"wait", "waitpid", "wait3", "wait4"})) {
    plan.kind = OrderKind::kWaitChild;
    plan.is_event = true;
  }
  plan.places.fill(-1);
  for (std::uint8_t word = 0; word < kWords; ++word) {
    std::int8_t at = 0;
    const auto look = [&](std::string_view name) {
      if (plan.places[word] < 0 && is_among(name, kNames[word])) plan.places[word] = at;
      ++at;
    };
    for (const recorder::ArgumentSignature& argument : signature.arguments) look(argument.name);
    for (const std::string_view extra : signature.extras) look(extra);
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

// MPICH's and the standard ABI's. Others have addresses (OrderPlace::unbound_is_world).
std::int64_t comm_of(std::int64_t word) {
  if (word == 0x44000000 || word == 257) return OrderEvent::kWorld;
  if (word == 0x44000001 || word == 258) return OrderEvent::kSelf;
  return word;
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

}  // namespace

bool CallDecoder::decode(const recorder::Call& call, OrderEvent& event) {
  const CallSignature* const signature = call.signature();
  if (signature == nullptr) return false;
  const Plan& plan = plan_of(*signature);
  if (!plan.is_event || !read_arguments(call, arguments_)) return false;
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
  event.making = plan.making;
  event.partitioned = plan.partitioned;
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
  event.colour = words.number(plan.of_node ? kSplitType : kColour, 0);
  if (plan.of_node && event.colour >= 0) event.colour = host_;
  event.key = words.number(kKey, 0);
  if (plan.making == CommMaking::kFirst) {
    event.key = 1;
    for (const std::int64_t extent : words.numbers(kDims)) event.key *= extent;
    if (words.numbers(kDims).empty()) event.making = CommMaking::kCopy;
  }
  if (plan.amount != kWords && words.number(plan.amount, 1) == 0) {
    (plan.order == CollectiveOrder::kRootToAll ? event.takes : event.gives) = false;
  }
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
