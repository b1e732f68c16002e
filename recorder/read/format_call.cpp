#include "recorder/read/format_call.h"

#include <algorithm>
#include <bit>
#include <cstdio>

#include "recorder/read/call_arguments.h"
#include "recorder/read/trace_reader.h"

namespace iotune::recorder {
namespace {

template <typename... Arguments>
std::string printed(const char* format, Arguments... arguments) {
  char text[128];
  const int size = std::snprintf(text, sizeof text, format, arguments...);
  return {text, static_cast<std::size_t>(size)};
}

std::string number_text(std::int64_t value, NumberStyle style) {
  switch (style) {
    case NumberStyle::kDouble:
      return printed("%g", std::bit_cast<double>(value));
    case NumberStyle::kUnsigned:
      return std::to_string(static_cast<std::uint64_t>(value));
    case NumberStyle::kHex:
      if (value == 0) return "0";
      return value < 0 && value > -4096 ? std::to_string(value)
                                        : printed("0x%llx", static_cast<unsigned long long>(value));
    default:
      return std::to_string(value);
  }
}

// Names as the program gave them; what would break the line is escaped.
void append_text(std::string& to, std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      to += printed("\\x%02x", byte);
    } else {
      to += c;
    }
  }
}

void append_array(std::string& to, std::span<const std::int64_t> values) {
  to += '{';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) to += ';';
    to += std::to_string(values[i]);
  }
  to += '}';
}

void append_argument(std::string& to, const ArgumentValue& value, std::string_view replacement) {
  if (!replacement.empty()) {
    append_text(to, replacement);
  } else if (value.signature->form == ArgumentForm::kText) {
    append_text(to, value.text);
  } else if (value.null) {
    to += "NULL";
  } else if (value.signature->form == ArgumentForm::kArray) {
    append_array(to, value.numbers);
  } else {
    to += number_text(value.numbers[0], value.signature->style);
  }
}

// A text of the signature that is called like an argument says in words what it is.
std::string_view words_for(const CallSignature& signature, const CallArguments& arguments,
                           std::string_view name) {
  for (std::size_t i = 0; i < signature.texts.size() && i < arguments.texts.size(); ++i) {
    if (signature.texts[i] == name) return arguments.texts[i];
  }
  return {};
}

constexpr std::size_t kShownEntries = 4;

void append_selection(std::string& to, const TransferExtras& extras) {
  using Selection = TransferExtras::Selection;
  const auto corners = [&](std::size_t count, bool pairs) {
    for (std::size_t i = 0; i < count; ++i) {
      to += ' ';
      append_array(to, extras.row(pairs ? 2 * i : i));
      if (!pairs) continue;
      to += '-';
      append_array(to, extras.row(2 * i + 1));
    }
  };
  to += " [";
  switch (extras.selection) {
    case Selection::kNone:
      to += "none";
      break;
    case Selection::kAll:
      to += "all ";
      append_array(to, extras.row(0));
      break;
    case Selection::kRegular: {
      to += "regular";
      static constexpr const char* kNames[] = {" start=", " stride=", " count=", " block="};
      for (std::size_t i = 0; i < 4; ++i) {
        to += kNames[i];
        append_array(to, extras.row(i));
      }
      break;
    }
    case Selection::kBlocks:
    case Selection::kPoints: {
      const bool blocks = extras.selection == Selection::kBlocks;
      to += std::to_string(extras.entries) + (blocks ? " blocks" : " points");
      corners(std::min(extras.entries, kShownEntries), blocks);
      if (extras.entries > kShownEntries) to += " ...";
      break;
    }
    case Selection::kTooLarge:
      to += std::to_string(extras.points) + " points within";
      corners(1, true);
      break;
    case Selection::kUnknown:
      to += "selection unknown";
      break;
  }
  if (extras.mode >= 0) to += extras.mode == 0 ? "; independent" : "; collective";
  to += ']';
}

std::string raw_form(const Call& call) {
  std::string text = call.name() + " (";
  bool first = true;
  const auto separate = [&] {
    if (!first) text += ',';
    first = false;
  };
  for (const std::int64_t key : call.keys()) {
    separate();
    text += std::to_string(key);
  }
  for (const std::int64_t number : call.numbers) {
    separate();
    text += std::to_string(number);
  }
  for (const std::string& words : call.texts()) {
    separate();
    append_text(text, words);
  }
  return text + ")";
}

}  // namespace

std::string format_call(const Call& call) {
  const std::optional<CallArguments> arguments = arguments_of(call);
  if (!arguments) return raw_form(call);
  const CallSignature& signature = *call.signature();
  std::string text = call.name() + " (";
  bool first = true;
  for (const ArgumentValue& value : arguments->values) {
    if (value.signature->form == ArgumentForm::kNone) continue;
    if (!first) text += ',';
    first = false;
    append_argument(text, value, words_for(signature, *arguments, value.signature->name));
  }
  text += ')';
  if (arguments->result) text += ' ' + number_text(*arguments->result, signature.result_style);
  if (signature.transfer && signature.layer == Layer::kHdf5) {
    if (const auto extras = transfer_extras(arguments->extras)) append_selection(text, *extras);
  }
  return text;
}

unsigned depth_of(const Call& call) {
  return static_cast<unsigned>(std::popcount(layers_around(call)));
}

const char* layer_name(const Call& call) {
  if (call.signature() == nullptr) return "unknown";
  switch (call.signature()->layer) {
    case Layer::kHdf5:
      return "hdf5";
    case Layer::kMpiIo:
      return "mpiio";
    case Layer::kStdio:
      return "stdio";
    case Layer::kPosix:
      return "posix";
    case Layer::kIotune:
      return "iotune";
  }
  return "unknown";
}

std::string format_line(const Call& call, std::uint64_t process_wall_ns) {
  const std::uint64_t start = process_wall_ns + call.start_ns;
  std::string line =
      printed("%llu.%06llu ", static_cast<unsigned long long>(start / 1'000'000'000U),
              static_cast<unsigned long long>(start % 1'000'000'000U / 1000));
  line.append(2 * std::size_t{depth_of(call)}, ' ');
  line += format_call(call);
  line += printed(call.exact ? " %.6f" : " ~%.6f", static_cast<double>(call.duration_ns) / 1e9);
  return line;
}

}  // namespace iotune::recorder
