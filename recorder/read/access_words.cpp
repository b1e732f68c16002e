#include "recorder/read/access_words.h"

#include <cstddef>
#include <limits>
#include <vector>

#include "recorder/read/call_arguments.h"

namespace iotune::recorder {
namespace {

std::optional<std::int64_t> product(std::int64_t count, std::int64_t bytes) {
  if (count < 0 || bytes < 0) return std::nullopt;
  if (bytes != 0 && count > std::numeric_limits<std::int64_t>::max() / bytes) return std::nullopt;
  return count * bytes;
}

std::optional<std::int64_t> bytes_of(const std::vector<TransferExtras>& datasets) {
  std::optional<std::int64_t> sum;
  for (const TransferExtras& one : datasets) {
    const auto bytes = product(one.points, one.type_bytes);
    if (!bytes || sum.value_or(0) > std::numeric_limits<std::int64_t>::max() - *bytes) {
      return std::nullopt;
    }
    sum = sum.value_or(0) + *bytes;
  }
  return sum;
}

}  // namespace

MovedBytes moved_bytes(const CallSignature& signature) {
  const CallMeaning& meaning = signature.meaning;
  MovedBytes moved;
  if (!signature.transfer || meaning.result_place == CallMeaning::kNowhere) return moved;
  moved.is_product_ = meaning.item_bytes_place != CallMeaning::kNowhere;
  moved.result_ = meaning.result_place;
  moved.number_ = meaning.bytes_place;
  moved.item_bytes_ = meaning.item_bytes_place;
  return moved;
}

AccessWords access_words(const Call& call) {
  AccessWords words;
  if (call.signature() == nullptr) return words;
  const CallSignature& signature = *call.signature();
  const CallMeaning& meaning = signature.meaning;
  if (meaning.result_place == CallMeaning::kNowhere) {  // an array stands in front
    if (signature.layer == Layer::kIotune) return words;
    const auto arguments = arguments_of(call);
    if (!arguments) return words;
    words.result = arguments->result;
    if (signature.layer == Layer::kHdf5 && signature.transfer && words.result.value_or(-1) >= 0) {
      words.length_bytes = bytes_of(transfer_extras(*arguments));
    }
    return words;
  }
  const auto number = [&](int place) -> std::optional<std::int64_t> {
    if (place < 0 || static_cast<std::size_t>(place) >= call.numbers.size()) return std::nullopt;
    return call.numbers[static_cast<std::size_t>(place)];
  };
  words.result = number(meaning.result_place);
  if (!signature.transfer || !words.result) return words;
  const std::int64_t result = *words.result;
  if (signature.layer == Layer::kHdf5) {
    if (result >= 0) {
      const auto extras = static_cast<std::size_t>(meaning.result_place) + 1;
      words.length_bytes = bytes_of(transfer_extras(call.numbers.subspan(extras), 1));
    }
  } else if (signature.layer == Layer::kMpiIo) {
    const auto items = number(meaning.bytes_place), bytes = number(meaning.item_bytes_place);
    if (result == 0 && items && bytes) words.length_bytes = product(*items, *bytes);
  } else {
    const auto offset = number(meaning.offset_place), length = number(meaning.bytes_place);
    if (offset && *offset >= 0) words.offset_bytes = offset;
    if (length && *length >= 0) words.length_bytes = length;
  }
  return words;
}

}  // namespace iotune::recorder
