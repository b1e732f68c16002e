#include "recorder/read/access_words.h"

#include <cstddef>
#include <limits>
#include <string_view>

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

AccessWordsReader::AccessWordsReader() {
  for (const CallSignature& signature : call_table()) {
    Places& places = places_.emplace_back();
    places.fixed = signature.layer != Layer::kIotune;
    int next = 0;
    const auto name_place = [&](std::string_view name) {
      if (name == signature.access_offset && !name.empty()) places.offset = next;
      if (name == signature.access_length && !name.empty()) places.length = next;
      if (name == "count") places.count = next;
      if (name == "type_bytes") places.type_bytes = next;
      if (name == "result") places.result = next;
      ++next;
    };
    for (const ArgumentSignature& argument : signature.arguments) {
      if (argument.form == ArgumentForm::kArray) places.fixed = false;
      if (argument.form == ArgumentForm::kNumber) name_place(argument.name);
    }
    name_place("result");
    for (const std::string_view name : signature.extras) name_place(name);
  }
}

MovedBytes AccessWordsReader::moved_bytes(const CallSignature& signature) const {
  const Places& places = places_[static_cast<std::size_t>(&signature - call_table().data())];
  MovedBytes moved;
  if (!places.fixed || !signature.transfer || places.result == kNone) return moved;
  moved.is_product_ = signature.layer == Layer::kMpiIo;
  moved.result_ = places.result;
  moved.length_ = places.length;
  moved.count_ = places.count;
  moved.type_bytes_ = places.type_bytes;
  return moved;
}

int AccessWordsReader::offset_place(const CallSignature& signature) const {
  return places_[static_cast<std::size_t>(&signature - call_table().data())].offset;
}

AccessWords AccessWordsReader::of(const Call& call) const {
  AccessWords words;
  if (call.signature() == nullptr) return words;
  const CallSignature& signature = *call.signature();
  const Places& places = places_[static_cast<std::size_t>(&signature - call_table().data())];
  if (!places.fixed) {
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
    if (place == kNone || static_cast<std::size_t>(place) >= call.numbers.size()) {
      return std::nullopt;
    }
    return call.numbers[static_cast<std::size_t>(place)];
  };
  words.result = number(places.result);
  if (!signature.transfer || !words.result) return words;
  const std::int64_t result = *words.result;
  if (signature.layer == Layer::kHdf5) {
    if (result >= 0) {
      words.length_bytes = bytes_of(
          transfer_extras(call.numbers.subspan(static_cast<std::size_t>(places.result) + 1), 1));
    }
  } else if (signature.layer == Layer::kMpiIo) {
    const auto count = number(places.count), bytes = number(places.type_bytes);
    if (result == 0 && count && bytes) words.length_bytes = product(*count, *bytes);
  } else {
    const auto offset = number(places.offset), length = number(places.length);
    if (offset && *offset >= 0) words.offset_bytes = offset;
    if (length && *length >= 0) words.length_bytes = length;
  }
  return words;
}

}  // namespace iotune::recorder
