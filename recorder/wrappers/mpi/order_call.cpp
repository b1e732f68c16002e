#include "recorder/wrappers/mpi/order_call.h"

#include <atomic>
#include <cstring>

#include "recorder/call_table.h"
#include "recorder/meaning_by_call.h"
#include "recorder/wrappers/mpi/order_comms.h"

namespace iotune::recorder {
namespace {

// Of a receive that got nothing, and of what is no receive.
constexpr std::int64_t kNothingReceived = -3;

// In one record: a ring has room for some thousand numbers.
constexpr std::int64_t kMostRequests = 1024;

// Of the calls by the names that begin with PMPI_; the others are in g_plain_symbols.
constinit CallerSymbol g_profiling_symbols[kCallCount];

// A cancelled receive's status names no message. Most programs cancel none, and need not be asked.
constinit std::atomic<bool> g_any_cancelled{false};

template <typename T>
T* pointer(std::int64_t word) noexcept {
  return reinterpret_cast<T*>(word);
}

int int_at(const std::byte* at) noexcept {
  int value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

using Name = ShortText<64>;
void add_name(CallNumber number, bool profiling, Name& name) noexcept {
  if (profiling) name << 'P';
  // call_name ends every name with a NUL.
  name << call_name(static_cast<std::size_t>(number)).data();
}

bool is_cancelled(Provider& provider, const std::byte* status) noexcept {
  const OwnCode own;
  const MpiApi* const mpi = mpi_api(provider);
  int cancelled = 0;
  return mpi != nullptr && mpi->MPI_Test_cancelled != nullptr &&
         mpi->MPI_Test_cancelled(status, &cancelled) == 0 && cancelled != 0;
}

RankCounts rank_counts(const std::int64_t* words, const OrderWord* forms, std::size_t at) noexcept {
  const bool large =
      forms[at].form == OrderForm::kOwnLargeCount || forms[at].form == OrderForm::kLargeCounts;
  return {static_cast<Word>(words[forms[at].of]), pointer<const void>(words[at]), large};
}

// An empty status, for what a call may leave as it is.
void clear_status(const StatusLayout& layout, std::byte* status) noexcept {
  const int source = layout.any_source;
  std::memset(status, 0, layout.bytes);
  std::memcpy(status + layout.source, &source, sizeof source);
}

}  // namespace

CallerSymbol& order_symbol(OrderCall call) noexcept {
  return call.profiling ? g_profiling_symbols[static_cast<std::size_t>(call.number)]
                        : plain_symbol(call.number);
}

[[gnu::hot]] OrderFrame::OrderFrame(OrderCall call, const void* caller) noexcept
    : scope_(CallScope::OfOrder{}), call_(call) {
  RealFunction found = order_symbol(call).find_newest(caller);
  if (found.function == nullptr) {
    Name name;
    add_name(call.number, call.profiling, name);
    found = order_symbol(call).find_by_library(name.c_str(), caller);
    if (found.function != nullptr) {
      if (!g_records_order && found.looked_up && !call.stays) {
        leave_to_caller(name.c_str(), caller, found);
      }
    } else if (call.small != call.number) {
      OrderCall other = call;
      other.number = call.small;
      Name small;
      add_name(call.small, call.profiling, small);
      found = order_symbol(other).find(small.c_str(), caller);
      small_ = found.function != nullptr;
    }
    if (found.function == nullptr) say_missing(name.c_str());
  }
  function_ = found.function;
  if (function_ != nullptr && g_records_order && !goes_straight_through(scope_, found)) {
    provider_ = found.provider;
    scope_.start();
  }
}

[[gnu::hot]] void OrderFrame::prepare(std::int64_t* words, const OrderWord* forms,
                                      std::size_t arguments) noexcept {
  const StatusLayout& layout = status_layout(abi_of(*provider_));
  for (std::size_t i = 0; i < arguments; ++i) {
    switch (forms[i].form) {
      case OrderForm::kUsed:
        used_ = handle_at(*provider_, pointer<const void>(words[i]));
        break;
      case OrderForm::kStatus:
        if (static_cast<std::uintptr_t>(words[i]) != layout.ignored) break;
        clear_status(layout, reinterpret_cast<std::byte*>(status_.bytes));
        words[i] = word_of(&status_);
        break;
      case OrderForm::kRequests:
      case OrderForm::kRequestAt:
      case OrderForm::kRequestsAt:
        keep_requests(words, forms, i, arguments);
        break;
      default:
        break;
    }
  }
}

// The argument in front says how many there are. With them goes the room for statuses.
void OrderFrame::keep_requests(std::int64_t* words, const OrderWord* forms, std::size_t at,
                               std::size_t arguments) noexcept {
  const MpiAbi abi = abi_of(*provider_);
  const StatusLayout& layout = status_layout(abi);
  const auto* const given = pointer<const std::byte>(words[at]);
  const std::int64_t count = words[at - 1];
  if (given == nullptr || count <= 0) return;
  std::int64_t* statuses = nullptr;
  for (std::size_t i = at; i < arguments; ++i) {
    const bool ignored = static_cast<std::uintptr_t>(words[i]) == layout.ignored;
    if (forms[i].form == OrderForm::kStatuses && ignored) statuses = &words[i];
  }
  const auto requests = static_cast<std::size_t>(count);
  const std::size_t bytes = requests * sizeof(std::int64_t);
  auto* const memory = static_cast<std::byte*>(
      scratch_.have(bytes + (statuses == nullptr ? 0 : requests * layout.bytes)));
  if (memory == nullptr) return;
  requests_ = reinterpret_cast<std::int64_t*>(memory);
  request_count_ = count;
  for (std::size_t i = 0; i < requests; ++i) {
    requests_[i] = static_cast<std::int64_t>(handle_at(*provider_, given + i * handle_bytes(abi)));
  }
  if (statuses == nullptr) return;
  for (std::size_t i = 0; i < requests; ++i) {
    clear_status(layout, memory + bytes + i * layout.bytes);
  }
  *statuses = word_of(memory + bytes);
}

std::int64_t OrderFrame::request_at(std::int64_t index) const noexcept {
  return index >= 0 && index < request_count_ ? requests_[index] : 0;
}

[[gnu::hot]] void OrderFrame::read_status(const std::byte* status,
                                          std::int64_t* got) const noexcept {
  const MpiAbi abi = abi_of(*provider_);
  const StatusLayout& layout = status_layout(abi);
  got[0] = common_rank(abi, int_at(status + layout.source));
  got[1] = common_tag(abi, int_at(status + layout.tag));
  const bool nothing = got[0] == kAnySource || (g_any_cancelled.load(std::memory_order_relaxed) &&
                                                is_cancelled(*provider_, status));
  if (nothing) got[0] = got[1] = kNothingReceived;
}

bool OrderFrame::did_nothing(const std::int64_t* words, const OrderWord* forms,
                             std::size_t arguments, int result) const noexcept {
  for (std::size_t i = 0; i < arguments; ++i) {
    const OrderForm form = forms[i].form;
    if (form != OrderForm::kFlag && form != OrderForm::kOutcount) continue;
    return result != 0 || words[i] == 0 || *pointer<const int>(words[i]) <= 0;
  }
  return false;
}

[[gnu::hot]] void OrderFrame::record(const std::int64_t* words, const OrderWord* forms,
                                     std::size_t arguments, int result) noexcept {
  scope_.stop();
  if (!scope_.recorded()) return;
  if (call_.tests && did_nothing(words, forms, arguments, result)) return;
  if (t_thread.ring == nullptr || !t_thread.ring->in_file) {
    const OwnCode own;
    start_buffer();
  }
  // Of the calls that order processes one alone changes something: a request, by cancelling it.
  if (does(call_.number, Verb::kChanges)) g_any_cancelled.store(true);
  std::int64_t first = 0;
  while (request_count_ - first > kMostRequests) {
    record_piece(words, forms, arguments, result, first, kMostRequests);
    first += kMostRequests;
  }
  record_piece(words, forms, arguments, result, first, request_count_ - first);
}

// After a failed call nothing is read that the failure may have been about.
[[gnu::hot]] void OrderFrame::record_piece(Words words, Forms forms, std::size_t arguments,
                                           int result, std::int64_t first,
                                           std::int64_t count) noexcept {
  const MpiAbi abi = abi_of(*provider_);
  std::int64_t got[2] = {kNothingReceived, kNothingReceived};
  bool has_status = false, has_members = false;
  CommMembers members;
  RecordWriter record(scope_, call_.number, Times::kOrder);
  for (std::size_t i = 0; i < arguments; ++i) {
    const std::int64_t word = words[i];
    const bool readable = result == 0 && word != 0;
    switch (forms[i].form) {
      case OrderForm::kPassed:
      case OrderForm::kFlag:
        break;
      case OrderForm::kNumber:
        // Of an array that stands there in pieces.
        record.number(i + 1 < arguments && forms[i + 1].form == OrderForm::kRequests && count > 0
                          ? count
                          : word);
        break;
      case OrderForm::kLargeCount:
        record.number(word);
        break;
      case OrderForm::kHandle:
        // Of an int the upper half of a register is anything.
        record.number(abi == MpiAbi::kMpich ? word & 0xffffffff : word);
        break;
      case OrderForm::kRank:
        record.number(std::int64_t{common_rank(abi, static_cast<int>(word))});
        break;
      case OrderForm::kTag:
        record.number(std::int64_t{common_tag(abi, static_cast<int>(word))});
        break;
      case OrderForm::kMade:
        record.number(static_cast<std::int64_t>(
            readable ? handle_at(*provider_, pointer<const void>(word)) : 0));
        break;
      case OrderForm::kUsed:
        record.number(static_cast<std::int64_t>(used_));
        break;
      case OrderForm::kRequestAt: {
        const auto* const index = pointer<const int>(words[forms[i].of]);
        record.number(result == 0 && index != nullptr ? request_at(*index) : 0);
        break;
      }
      case OrderForm::kStatus:
        has_status = true;
        if (readable) read_status(pointer<const std::byte>(word), got);
        break;
      case OrderForm::kNewComm:
      case OrderForm::kSameComm: {
        const Word made = readable ? handle_at(*provider_, pointer<const void>(word)) : 0;
        const bool null = is_null_comm(*provider_, made);
        record.number(static_cast<std::int64_t>(null ? 0 : made));
        has_members = true;
        if (null) break;
        members = members_of(*provider_, forms[i].form == OrderForm::kNewComm
                                             ? made
                                             : static_cast<Word>(words[forms[i].of]));
        break;
      }
      case OrderForm::kOwnCount:
      case OrderForm::kOwnLargeCount:
        record.number(result == 0 ? own_count(*provider_, rank_counts(words, forms, i)) : -1);
        break;
      case OrderForm::kCounts:
      case OrderForm::kLargeCounts:
        if (result == 0) {
          append_counts(record, *provider_, rank_counts(words, forms, i));
        } else {
          record.number(std::int64_t{-1});
        }
        break;
      case OrderForm::kInt:
      case OrderForm::kOutcount:
        record.number(readable ? std::int64_t{*pointer<const int>(word)} : -1);
        break;
      default:
        append_array(record, words, forms, i, result, first, count);
        break;
    }
  }
  record.number(std::int64_t{result});
  if (has_status) record.numbers({got[0], got[1]});
  if (has_members) {
    record.numbers({members.rank, members.size, members.leader, members.members});
  }
  record.commit();
}

void OrderFrame::append_array(RecordWriter& record, Words words, Forms forms, std::size_t at,
                              int result, std::int64_t first, std::int64_t count) const noexcept {
  const OrderForm form = forms[at].form;
  const std::size_t of = forms[at].of;
  if (form == OrderForm::kRequests) {
    if (requests_ != nullptr) {
      record.array(requests_ + first, count);
    } else {
      record.number(std::int64_t{words[at - 1] == 0 ? 0 : -1});
    }
    return;
  }
  // As many as an argument says, or what stands there; of those at an array, the one in front.
  const std::size_t owner = form == OrderForm::kRequestsAt ? of - 1 : of;
  std::int64_t length = words[owner];
  if (forms[owner].form == OrderForm::kOutcount) {
    length = words[owner] == 0 ? -1 : *pointer<const int>(words[owner]);
  } else if (form == OrderForm::kStatuses && request_count_ > 0) {
    length = count;
  }
  const StatusLayout& layout = status_layout(abi_of(*provider_));
  const bool ignored =
      form == OrderForm::kStatuses && static_cast<std::uintptr_t>(words[at]) == layout.ignored;
  if (length == 0 || result != 0 || words[at] == 0 || ignored || length < 0) {
    record.number(std::int64_t{length == 0 ? 0 : -1});
    return;
  }
  record.number(form == OrderForm::kStatuses ? 2 * length : length);
  for (std::int64_t i = 0; i < length; ++i) {
    if (form == OrderForm::kStatuses) {
      std::int64_t got[2];
      read_status(pointer<const std::byte>(words[at]) + (first + i) * layout.bytes, got);
      record.numbers({got[0], got[1]});
    } else if (form == OrderForm::kRequestsAt) {
      record.number(request_at(pointer<const int>(words[of])[i]));
    } else {
      record.number(std::int64_t{pointer<const int>(words[at])[i]});
    }
  }
}

}  // namespace iotune::recorder
