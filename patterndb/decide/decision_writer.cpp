#include "patterndb/decide/decision_writer.h"

#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace iotune::patterndb {
namespace {

// Of texts for people; what is longer is cut.
constexpr std::size_t kMostPattern = 511, kMostMessage = 511;
constexpr std::size_t kMostRefusedName = 31, kMostRefusedValue = 95, kMostReason = 255;
constexpr std::size_t kAlignment = 8;

static_assert(sizeof(iotune_decision) == 48 && alignof(iotune_decision) == kAlignment);
static_assert(sizeof(iotune_decision_entry) == 6);
static_assert(sizeof(iotune_program_answer) % kAlignment == 0);

// A header with texts behind it, in one piece.
class PackedBytes {
 public:
  explicit PackedBytes(std::size_t header_bytes) : bytes_(header_bytes, '\0') {}

  // Where the text stands. Empty ones share the first one's end.
  std::size_t add(std::string_view text) {
    if (text.empty() && empty_ != 0) return empty_;
    const std::size_t at = bytes_.size();
    bytes_.append(text).push_back('\0');
    if (empty_ == 0) empty_ = bytes_.size() - 1;
    return at;
  }
  void add_bytes(const std::string& bytes) { bytes_ += bytes; }
  std::size_t size() const { return bytes_.size(); }

  // With `header` at its begin, once that knows where the texts stand.
  template <typename Header>
  std::string finish(Header header, const std::vector<iotune_decision_entry>& entries = {}) {
    static_assert(std::is_trivially_copyable_v<Header>);
    bytes_.resize((bytes_.size() + kAlignment - 1) / kAlignment * kAlignment, '\0');
    header.bytes = static_cast<std::uint32_t>(bytes_.size());
    std::memcpy(bytes_.data(), &header, sizeof header);
    if (!entries.empty()) {
      std::memcpy(bytes_.data() + sizeof header, entries.data(),
                  entries.size() * sizeof entries[0]);
    }
    return std::move(bytes_);
  }

 private:
  std::string bytes_;
  std::size_t empty_ = 0;  // where an empty text stands; 0: nowhere yet
};

// Where the whole is too long, some offsets do not fit into 16 bits: then nobody reads them.
std::uint16_t offset(std::size_t at) {
  return static_cast<std::uint16_t>(at);
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text;
}

// Of a distance as people read it: four digits, so that 0.29 has 290.
std::int64_t thousandths(double distance) {
  constexpr double kRounding = 1e-6;
  return static_cast<std::int64_t>(strtod(number(distance).c_str(), nullptr) * 1000 + kRounding);
}

std::string packed_with(const Decision& decision, std::size_t refused) {
  const std::size_t settings = decision.settings.values().size() + decision.of_variables.size();
  PackedBytes packed(sizeof(iotune_decision) +
                     (settings + refused) * sizeof(iotune_decision_entry));
  iotune_decision head = {};
  head.version = IOTUNE_DECISION_VERSION;
  head.row = decision.row;
  head.distance_milli = decision.distance ? thousandths(*decision.distance) : -1;
  head.setting_count = offset(settings);
  head.refused_count = offset(refused);
  head.pattern = offset(packed.add(one_line(decision.pattern).substr(0, kMostPattern)));
  head.message = offset(packed.add(one_line(decision.message).substr(0, kMostMessage)));
  head.source = static_cast<std::uint8_t>(decision.source);
  head.state = static_cast<std::uint8_t>(decision.state);
  head.sieves = decision.sieves ? 1 : 0;
  std::vector<iotune_decision_entry> entries;
  const auto add = [&](std::string_view name, std::string_view value, std::string_view detail) {
    entries.push_back(
        {offset(packed.add(name)), offset(packed.add(value)), offset(packed.add(detail))});
  };
  for (const auto& [name, value] : decision.settings.values()) add(name, value, "");
  for (const VariableSetting& one : decision.of_variables) add(one.name, one.value, one.variable);
  for (std::size_t i = 0; i < refused; ++i) {
    const RefusedSetting& one = decision.refused[i];
    add(one_line(one.name).substr(0, kMostRefusedName),
        one_line(one.value).substr(0, kMostRefusedValue),
        one_line(one.reason).substr(0, kMostReason));
  }
  return packed.finish(head, entries);
}

std::string packed_answer(const ProgramAnswer& answer) {
  PackedBytes bytes(sizeof(iotune_program_answer));
  bytes.add_bytes(packed(answer.decision));
  iotune_program_answer head = {};
  head.file = static_cast<std::uint32_t>(bytes.add(answer.file));
  head.filesystem = static_cast<std::uint32_t>(bytes.add(answer.filesystem));
  head.masked = answer.masked ? 1 : 0;
  head.creating = answer.creating ? 1 : 0;
  return bytes.finish(head);
}

}  // namespace

std::string packed(const Decision& decision) {
  const std::size_t settings = decision.settings.values().size() + decision.of_variables.size();
  if (!decision.gated && settings > 0) throw Fault{"a decision did not pass the gate"};
  if (decision.source == IOTUNE_SOURCE_NONE) throw Fault{"a decision has no source"};
  std::size_t refused = std::min<std::size_t>(decision.refused.size(), IOTUNE_DECISION_MAX_REFUSED);
  while (settings <= IOTUNE_DECISION_MAX_SETTINGS) {
    std::string bytes = packed_with(decision, refused);
    if (bytes.size() <= IOTUNE_DECISION_MAX_BYTES) return bytes;
    if (refused-- == 0) break;
  }
  throw Fault{"the decision is too long"};
}

std::string packed(const std::vector<ProgramAnswer>& answers, std::size_t most_bytes) {
  std::string bytes;
  for (const ProgramAnswer& one : answers) {
    const std::string answer = packed_answer(one);
    if (bytes.size() + answer.size() > most_bytes) break;
    bytes += answer;
  }
  return bytes;
}

}  // namespace iotune::patterndb
