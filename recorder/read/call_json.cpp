#include "recorder/read/call_json.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <optional>
#include <span>
#include <vector>

#include "recorder/read/call_arguments.h"

namespace iotune::recorder {
namespace {

// Bytes of the UTF-8 sequence at the beginning of `text`, 0 where there is none.
std::size_t utf8_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  std::size_t size = 0;
  if (first >= 0xc2 && first <= 0xdf) size = 2;
  if ((first & 0xf0) == 0xe0) size = 3;
  if (first >= 0xf0 && first <= 0xf4) size = 4;
  if (size == 0 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool beyond = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
  return overlong || beyond ? 0 : size;
}

void append_escape(std::string& to, unsigned code) {
  char text[8];
  std::snprintf(text, sizeof text, "\\u%04x", code & 0xffffU);
  to += text;
}

void append_number(std::string& to, std::int64_t value, NumberStyle style) {
  if (style == NumberStyle::kUnsigned || style == NumberStyle::kHex) {
    // Errors of unsigned results are small negative numbers.
    to += value < 0 && value > -4096 ? std::to_string(value)
                                     : std::to_string(static_cast<std::uint64_t>(value));
  } else if (style == NumberStyle::kDouble) {
    const double number = std::bit_cast<double>(value);
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", number);
    to += std::isfinite(number) ? text : "null";
  } else {
    to += std::to_string(value);
  }
}

void append_numbers(std::string& to, std::span<const std::int64_t> numbers) {
  to += '[';
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) to += ", ";
    to += std::to_string(numbers[i]);
  }
  to += ']';
}

// An object's members, with the commas between them.
class Members {
 public:
  explicit Members(std::string& to) : to_(to) { to_ += '{'; }
  std::string& name(std::string_view name) {
    if (!first_) to_ += ", ";
    first_ = false;
    append_json_text(to_, name);
    return to_ += ": ";
  }
  void end() { to_ += '}'; }

 private:
  std::string& to_;
  bool first_ = true;
};

void append_value(std::string& to, const ArgumentValue& value) {
  if (value.signature->form == ArgumentForm::kText) {
    append_json_text(to, value.text);
  } else if (value.null) {
    to += "null";
  } else if (value.signature->form == ArgumentForm::kArray) {
    append_numbers(to, value.numbers);
  } else {
    append_number(to, value.numbers[0], value.signature->style);
  }
}

std::vector<TransferExtras> transfers_of(const Call& call) {
  if (call.signature() == nullptr || !call.signature()->transfer ||
      call.signature()->layer != Layer::kHdf5) {
    return {};
  }
  const std::optional<CallArguments> arguments = arguments_of(call);
  return arguments ? transfer_extras(*arguments) : std::vector<TransferExtras>{};
}

void append_selection(std::string& to, const Selection& selection) {
  using Kind = Selection::Kind;
  static constexpr const char* kKinds[] = {"unknown", "none",           "all",
                                           "regular", "blocks",         "points",
                                           "bounds",  "as in the file", "one block"};
  Members members(to);
  append_json_text(members.name("kind"), kKinds[static_cast<int>(selection.kind) + 1]);
  const auto row = [&](const char* name, std::size_t index) {
    append_numbers(members.name(name), selection.row(index));
  };
  const auto rows = [&](const char* name, std::size_t first, std::size_t step) {
    std::string& list = members.name(name) += '[';
    for (std::size_t i = 0; i < selection.entries; ++i) {
      if (i > 0) list += ", ";
      append_numbers(list, selection.row(first + step * i));
    }
    list += ']';
  };
  switch (selection.kind) {
    case Kind::kAll:
      row("dims", 0);
      break;
    case Kind::kRegular: {
      static constexpr const char* kRows[] = {"start", "stride", "count", "block"};
      for (std::size_t i = 0; i < 4; ++i) row(kRows[i], i);
      break;
    }
    case Kind::kTooLarge:
      row("first", 0);
      row("last", 1);
      break;
    case Kind::kBlocks:
      rows("first", 0, 2);
      rows("last", 1, 2);
      break;
    case Kind::kPoints:
      rows("points", 0, 1);
      break;
    case Kind::kAsInFile:
    case Kind::kOneBlock:
    case Kind::kNone:
    case Kind::kUnknown:
      break;
  }
  members.end();
}

}  // namespace

void append_json_text(std::string& to, std::string_view text) {
  to += '"';
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= 0x80) {
      const std::size_t size = utf8_bytes(text.substr(i));
      if (size == 0) {
        append_escape(to, 0xdc00U + byte);
        ++i;
      } else {
        to += text.substr(i, size);
        i += size;
      }
      continue;
    }
    if (byte == '"' || byte == '\\') {
      to += '\\';
      to += text[i];
    } else if (byte < 0x20 || byte == 0x7f) {
      append_escape(to, byte);
    } else {
      to += text[i];
    }
    ++i;
  }
  to += '"';
}

void append_arguments_json(std::string& to, const Call& call) {
  const std::optional<CallArguments> arguments = arguments_of(call);
  if (!arguments) {
    append_words_json(to, call);
    return;
  }
  const CallSignature& signature = *call.signature();
  Members members(to);
  for (const ArgumentValue& value : arguments->values) {
    if (value.signature->form == ArgumentForm::kNone) continue;
    append_value(members.name(value.signature->name), value);
  }
  for (std::size_t i = 0; i < signature.extras.size() && i < arguments->extras.size(); ++i) {
    if (signature.extras[i] == "selection") continue;  // one word of many
    append_number(members.name(signature.extras[i]), arguments->extras[i], NumberStyle::kSigned);
  }
  for (std::size_t i = 0; i < signature.texts.size() && i < arguments->texts.size(); ++i) {
    // A text that is called like an argument says in words what it is.
    std::string name(signature.texts[i]);
    if (arguments->find(name) != nullptr) name += "_name";
    append_json_text(members.name(name), arguments->texts[i]);
  }
  members.end();
}

void append_selection_json(std::string& to, const Call& call) {
  const std::vector<TransferExtras> all = transfers_of(call);
  // A call on several datasets has one for each of them: append_transfers_json.
  if (all.size() == 1) append_selection(to, all[0].file);
}

void append_transfers_json(std::string& to, const Call& call,
                           const std::function<std::string_view(std::int64_t)>& path_of) {
  const std::vector<TransferExtras> all = transfers_of(call);
  if (all.empty()) return;
  const char* between = "[";
  for (const TransferExtras& one : all) {
    to += between;
    between = ", ";
    Members members(to);
    members.name("object") += std::to_string(one.object);
    const std::string_view path = path_of(one.object);
    if (path.empty()) {
      members.name("dataset") += "null";
    } else {
      append_json_text(members.name("dataset"), path);
    }
    members.name("mode") += std::to_string(one.mode);
    members.name("type_bytes") += std::to_string(one.type_bytes);
    members.name("points") += std::to_string(one.points);
    append_selection(members.name("selection"), one.file);
    append_selection(members.name("memory"), one.memory);
    members.end();
  }
  to += ']';
}

void append_words_json(std::string& to, const Call& call) {
  Members members(to);
  append_numbers(members.name("keys"), call.keys());
  append_numbers(members.name("numbers"), call.numbers);
  std::string& list = members.name("texts") += '[';
  for (std::size_t i = 0; i < call.texts().size(); ++i) {
    if (i > 0) list += ", ";
    append_json_text(list, call.texts()[i]);
  }
  list += ']';
  members.end();
}

}  // namespace iotune::recorder
