// A wrapped call of MPI that orders processes and moves no data of files. It is recorded where
// order was asked for (IOTUNE_ORDER); else it is left to its callers. All calls of one shape share
// one order_call, as those of plain_call.h do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/abi/mpi_api.h"
#include "recorder/ring/record_writer.h"
#include "recorder/wrappers/mpi/order_scratch.h"
#include "recorder/wrappers/plain_call.h"
#include "recorder/wrappers/wrapper_parts.h"

namespace iotune::recorder {

// How an argument is recorded: the kinds of calls.table.
enum class OrderForm : std::uint8_t {
  kPassed,  // not at all
  kNumber,
  kHandle,
  kLargeCount,  // a number, in an MPI older than 4 an int
  kRank,
  kTag,
  kMade,        // a handle after the call
  kUsed,        // a handle before the call
  kRequests,    // handles before the call
  kRequestAt,   // the one of them that an argument names afterwards
  kRequestsAt,  // those of them that an argument names afterwards
  kStatus,      // as the extras got_source, got_tag
  kStatuses,    // pairs of these
  kFlag,        // not at all; where it is 0 the call is not recorded
  kInt,         // what stands there after the call
  kOutcount,    // the same; where it is not above 0 the call is not recorded
  kInts,
  kNewComm,   // a communicator after the call, and as extras its members
  kSameComm,  // the same; its members are those of another communicator
  kOwnCount,  // of counts for each rank of a communicator this rank's
  kOwnLargeCount,
  kCounts,  // which of them are not 0
  kLargeCounts
};
// `of`: of an array the argument that says its length, itself or what stands there, or whose ranks
// it is about.
struct OrderWord {
  OrderForm form;
  std::uint8_t of;
};
template <typename T, OrderForm kForm, unsigned kOf = 0>
struct Ordered {
  using Type = T;
  using Small = std::conditional_t<kForm == OrderForm::kLargeCount, int, T>;
  static constexpr OrderWord kWord{kForm, kOf};
};

struct OrderCall {
  CallNumber number;
  CallNumber small;        // of a call with a large count the one with an int
  bool profiling : 1;      // by the name that begins with PMPI_
  bool tests : 1;          // it may return without having done anything, and is not recorded then
  bool stays : 1 = false;  // it is not left to its callers
};

// What is the same for all shapes.
class OrderFrame {
 public:
  OrderFrame(OrderCall call, const void* caller) noexcept;
  void* function() const noexcept { return function_; }
  // It is the call with an int as count.
  bool is_small() const noexcept { return small_; }
  bool records() const noexcept { return provider_ != nullptr; }
  // Before the call: what it will change, and statuses of ours where the program wants none.
  void prepare(std::int64_t* words, const OrderWord* forms, std::size_t arguments) noexcept;
  void record(const std::int64_t* words, const OrderWord* forms, std::size_t arguments,
              int result) noexcept;

 private:
  using Words = const std::int64_t*;
  using Forms = const OrderWord*;
  bool did_nothing(Words words, Forms forms, std::size_t arguments, int result) const noexcept;
  void read_status(const std::byte* status, std::int64_t* got) const noexcept;
  void keep_requests(std::int64_t* words, Forms forms, std::size_t at,
                     std::size_t arguments) noexcept;
  std::int64_t request_at(std::int64_t index) const noexcept;
  void record_piece(Words words, Forms forms, std::size_t arguments, int result, std::int64_t first,
                    std::int64_t count) noexcept;
  void append_array(RecordWriter& record, Words words, Forms forms, std::size_t at, int result,
                    std::int64_t first, std::int64_t count) const noexcept;

  CallScope scope_;
  OrderCall call_;
  bool small_ = false;
  void* function_ = nullptr;
  Provider* provider_ = nullptr;  // nullptr: the call goes straight through
  Word used_ = 0;
  // The program's requests before the call; nullptr: there are none, or no memory for them.
  std::int64_t* requests_ = nullptr;
  std::int64_t request_count_ = 0;
  StatusSpace status_;
  OrderScratch scratch_;
};

CallerSymbol& order_symbol(OrderCall call) noexcept;

template <typename... Kinds, std::size_t... kPlaces>
int make_order_call(const OrderFrame& frame, const std::int64_t* words,
                    std::index_sequence<kPlaces...> /*places*/) noexcept {
  constexpr bool kLarge = (... || (Kinds::kWord.form == OrderForm::kLargeCount));
  if constexpr (kLarge) {
    if (frame.is_small()) {
      const auto is_too_large = [](OrderWord word, std::int64_t value) {
        return word.form == OrderForm::kLargeCount && value != static_cast<int>(value);
      };
      if ((... || is_too_large(Kinds::kWord, words[kPlaces]))) return kCountTooLarge;
      return reinterpret_cast<int (*)(typename Kinds::Small...)>(frame.function())(
          typed_word<typename Kinds::Small>(words[kPlaces])...);
    }
  }
  return reinterpret_cast<int (*)(typename Kinds::Type...)>(frame.function())(
      typed_word<typename Kinds::Type>(words[kPlaces])...);
}

template <typename... Kinds>
[[gnu::noinline, gnu::hot]] int order_call(typename Kinds::Type... arguments, OrderCall call,
                                           const void* caller) noexcept {
  if (!g_records_order) {
    if (void* const passed = order_symbol(call).newest_function(caller)) {
      return reinterpret_cast<int (*)(typename Kinds::Type...)>(passed)(arguments...);
    }
  }
  static constexpr OrderWord kForms[] = {Kinds::kWord...};
  constexpr std::size_t kArguments = sizeof...(Kinds);
  std::int64_t words[] = {word_of(arguments)...};
  OrderFrame frame(call, caller);
  if (frame.function() == nullptr) return -1;
  if (frame.records()) frame.prepare(words, kForms, kArguments);
  const int result =
      make_order_call<Kinds...>(frame, words, std::make_index_sequence<kArguments>());
  if (frame.records()) frame.record(words, kForms, kArguments, result);
  return result;
}

}  // namespace iotune::recorder
