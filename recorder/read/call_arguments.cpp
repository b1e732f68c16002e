#include "recorder/read/call_arguments.h"

namespace iotune::recorder {

std::optional<std::int64_t> CallArguments::number(const CallSignature& signature,
                                                  std::string_view name) const {
  if (name == "result") return result;
  if (const ArgumentValue* value = find(name)) {
    if (value->numbers.size() == 1) return value->numbers[0];
    return std::nullopt;
  }
  for (std::size_t i = 0; i < signature.extras.size() && i < extras.size(); ++i) {
    if (signature.extras[i] == name) return extras[i];
  }
  return std::nullopt;
}

const ArgumentValue* CallArguments::find(std::string_view name) const {
  for (const ArgumentValue& value : values) {
    if (value.signature->name == name) return &value;
  }
  return nullptr;
}

std::optional<CallArguments> arguments_of(const Call& call) {
  const CallSignature* const signature = call.signature();
  if (signature == nullptr) return std::nullopt;
  CallArguments result;
  result.values.reserve(signature->arguments.size());
  std::size_t key = 0, number = 0, text = 0;
  const std::span<const std::int64_t> keys = call.keys(), numbers = call.numbers;
  for (const ArgumentSignature& argument : signature->arguments) {
    ArgumentValue value{&argument, {}, {}, false};
    switch (argument.form) {
      case ArgumentForm::kKey:
        if (key == keys.size()) return std::nullopt;
        value.numbers = keys.subspan(key++, 1);
        break;
      case ArgumentForm::kNumber:
        if (number == numbers.size()) return std::nullopt;
        value.numbers = numbers.subspan(number++, 1);
        break;
      case ArgumentForm::kArray: {
        if (number == numbers.size()) return std::nullopt;
        const std::int64_t length = numbers[number++];
        value.null = length < 0;
        if (value.null) break;
        if (static_cast<std::uint64_t>(length) > numbers.size() - number) return std::nullopt;
        value.numbers = numbers.subspan(number, static_cast<std::size_t>(length));
        number += static_cast<std::size_t>(length);
        break;
      }
      case ArgumentForm::kText:
        if (text < call.texts().size()) value.text = call.texts()[text];
        ++text;
        break;
      case ArgumentForm::kNone:
        break;
    }
    result.values.push_back(value);
  }
  if (signature->layer != Layer::kIotune) {
    if (number == numbers.size()) return std::nullopt;
    result.result = numbers[number++];
  }
  result.extras = numbers.subspan(number);
  while (text < call.texts().size()) result.texts.push_back(call.texts()[text++]);
  return result;
}

std::optional<TransferExtras> transfer_extras(std::span<const std::int64_t> extras) {
  constexpr std::size_t kHead = 6;
  constexpr std::int64_t kMaxDimensions = 64;
  if (extras.size() < kHead) return std::nullopt;
  TransferExtras result;
  result.object = extras[0];
  result.mode = extras[1];
  result.type_bytes = extras[2];
  result.points = extras[3];
  if (extras[4] < -1 || extras[4] > 5 || extras[5] < 0 || extras[5] > kMaxDimensions) {
    return std::nullopt;
  }
  using Selection = TransferExtras::Selection;
  result.selection = static_cast<Selection>(extras[4]);
  result.dimensions = static_cast<std::size_t>(extras[5]);
  std::span<const std::int64_t> rest = extras.subspan(kHead);
  std::size_t rows = 0;
  switch (result.selection) {
    case Selection::kUnknown:
    case Selection::kNone:
      break;
    case Selection::kAll:
      rows = 1;
      break;
    case Selection::kRegular:
      rows = 4;
      break;
    case Selection::kTooLarge:
      rows = 2;
      break;
    case Selection::kBlocks:
    case Selection::kPoints:
      if (rest.empty() || rest[0] < 0 || static_cast<std::uint64_t>(rest[0]) > rest.size()) {
        return std::nullopt;
      }
      result.entries = static_cast<std::size_t>(rest[0]);
      rest = rest.subspan(1);
      rows = result.entries * (result.selection == Selection::kBlocks ? 2 : 1);
      break;
  }
  if (rows * result.dimensions > rest.size()) return std::nullopt;
  result.values = rest.first(rows * result.dimensions);
  return result;
}

}  // namespace iotune::recorder
