#include "recorder/read/format_call.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <utility>

#include "recorder/read/actual_io.h"
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

void append_selection(std::string& to, const Selection& selection, std::int64_t points) {
  using Kind = Selection::Kind;
  const auto corners = [&](std::size_t count, bool pairs) {
    for (std::size_t i = 0; i < count; ++i) {
      to += ' ';
      append_array(to, selection.row(pairs ? 2 * i : i));
      if (!pairs) continue;
      to += '-';
      append_array(to, selection.row(2 * i + 1));
    }
  };
  switch (selection.kind) {
    case Kind::kNone:
      to += "none";
      break;
    case Kind::kAll:
      to += "all ";
      append_array(to, selection.row(0));
      break;
    case Kind::kRegular: {
      to += "regular";
      static constexpr const char* kNames[] = {" start=", " stride=", " count=", " block="};
      for (std::size_t i = 0; i < 4; ++i) {
        to += kNames[i];
        append_array(to, selection.row(i));
      }
      break;
    }
    case Kind::kBlocks:
    case Kind::kPoints: {
      const bool blocks = selection.kind == Kind::kBlocks;
      to += std::to_string(selection.entries) + (blocks ? " blocks" : " points");
      corners(std::min(selection.entries, kShownEntries), blocks);
      if (selection.entries > kShownEntries) to += " ...";
      break;
    }
    case Kind::kTooLarge:
      to += std::to_string(points) + " points within";
      corners(1, true);
      break;
    case Kind::kAsInFile:
      to += "as in the file";
      break;
    case Kind::kOneBlock:
      to += "one block";
      break;
    case Kind::kUnknown:
      to += "selection unknown";
      break;
  }
}

void append_transfer(std::string& to, const TransferExtras& extras) {
  to += " [";
  append_selection(to, extras.file, extras.points);
  // A whole memory space, or the file's selection in memory too, is what anyone expects.
  using Kind = Selection::Kind;
  const Kind kind = extras.memory.kind;
  if (kind != Kind::kUnknown && kind != Kind::kAll && kind != Kind::kAsInFile &&
      kind != Kind::kOneBlock && kind != Kind::kNone) {
    to += "; memory ";
    append_selection(to, extras.memory, extras.points);
  }
  if (extras.mode >= 0) to += extras.mode == 0 ? "; independent" : "; collective";
  if (extras.actual) {
    to += ", done: ";
    to += actual_mode_text(static_cast<std::size_t>(extras.actual->io_mode));
    ActualCounts counts;
    counts.add(*extras.actual);
    const char* separator = ", because: ";
    for (std::size_t bit = 0; bit < kCollectiveCauses; ++bit) {
      if (counts.causes[bit] == 0) continue;
      to += std::exchange(separator, ", ");
      to += collective_cause_text(bit);
    }
  }
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
    for (const TransferExtras& extras : transfer_extras(*arguments)) append_transfer(text, extras);
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
