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

bool read_arguments(const Call& call, CallArguments& result) {
  const CallSignature* const signature = call.signature();
  if (signature == nullptr) return false;
  result.values.resize(signature->arguments.size());
  result.texts.clear();
  result.result.reset();
  std::size_t key = 0, number = 0, text = 0;
  const std::span<const std::int64_t> keys = call.keys(), numbers = call.numbers;
  ArgumentValue* next = result.values.data();
  for (const ArgumentSignature& argument : signature->arguments) {
    // Written member by member, where it stays: to copy one whole right after it was written in
    // parts makes the processor wait, which was a quarter of a summary's time.
    ArgumentValue& value = *next++;
    value.signature = &argument;
    value.numbers = {};
    value.text = {};
    value.null = false;
    switch (argument.form) {
      case ArgumentForm::kKey:
        if (key == keys.size()) return false;
        value.numbers = keys.subspan(key++, 1);
        break;
      case ArgumentForm::kNumber:
        if (number == numbers.size()) return false;
        value.numbers = numbers.subspan(number++, 1);
        break;
      case ArgumentForm::kArray: {
        if (number == numbers.size()) return false;
        const std::int64_t length = numbers[number++];
        value.null = length < 0;
        if (value.null) break;
        if (static_cast<std::uint64_t>(length) > numbers.size() - number) return false;
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
  }
  if (signature->layer != Layer::kIotune) {
    if (number == numbers.size()) return false;
    result.result = numbers[number++];
  }
  result.extras = numbers.subspan(number);
  while (text < call.texts().size()) result.texts.push_back(call.texts()[text++]);
  return true;
}

std::optional<CallArguments> arguments_of(const Call& call) {
  std::optional<CallArguments> result(std::in_place);
  if (!read_arguments(call, *result)) result.reset();
  return result;
}

namespace {

// Takes a selection's words from the front of `words`. False where they contradict themselves.
bool take_selection(std::span<const std::int64_t>& words, Selection& selection) {
  constexpr std::int64_t kMaxDimensions = 64;
  using Kind = Selection::Kind;
  if (words.size() < 2 || words[0] < static_cast<std::int64_t>(Kind::kUnknown) ||
      words[0] > static_cast<std::int64_t>(Kind::kOneBlock) || words[1] < 0 ||
      words[1] > kMaxDimensions) {
    return false;
  }
  selection.kind = static_cast<Kind>(words[0]);
  selection.dimensions = static_cast<std::size_t>(words[1]);
  words = words.subspan(2);
  std::size_t rows = 0;
  switch (selection.kind) {
    case Kind::kUnknown:
    case Kind::kNone:
    case Kind::kAsInFile:
    case Kind::kOneBlock:
      break;
    case Kind::kAll:
      rows = 1;
      break;
    case Kind::kRegular:
      rows = 4;
      break;
    case Kind::kTooLarge:
      rows = 2;
      break;
    case Kind::kBlocks:
    case Kind::kPoints:
      if (words.empty() || words[0] < 0 || static_cast<std::uint64_t>(words[0]) > words.size()) {
        return false;
      }
      selection.entries = static_cast<std::size_t>(words[0]);
      words = words.subspan(1);
      rows = selection.entries * (selection.kind == Kind::kBlocks ? 2 : 1);
      break;
  }
  if (rows * selection.dimensions > words.size()) return false;
  selection.values = words.first(rows * selection.dimensions);
  words = words.subspan(selection.values.size());
  return true;
}

}  // namespace

std::vector<TransferExtras> transfer_extras(const CallArguments& arguments) {
  const ArgumentValue* const datasets = arguments.find("dataset");
  return transfer_extras(arguments.extras, datasets == nullptr ? 0 : datasets->numbers.size());
}

std::vector<TransferExtras> transfer_extras(std::span<const std::int64_t> words,
                                            std::size_t count) {
  constexpr std::size_t kHead = 4;
  std::vector<TransferExtras> found;
  for (std::size_t i = 0; i < count; ++i) {
    if (words.size() < kHead) return {};
    TransferExtras& one =
        found.emplace_back(TransferExtras{words[0], words[1], words[2], words[3], {}, {}, {}});
    words = words.subspan(kHead);
    if (!take_selection(words, one.file)) return {};
    // Earlier versions ended here.
    if (!words.empty() && !take_selection(words, one.memory)) return {};
  }
  if (words.size() >= 3) {
    for (TransferExtras& one : found) one.actual = {words[0], words[1], words[2]};
  }
  return found;
}

}  // namespace iotune::recorder
