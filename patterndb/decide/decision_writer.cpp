#include "patterndb/decide/decision_writer.h"

#include <algorithm>
#include <cstring>
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

std::string pack(const DecisionParts& parts, std::size_t refused) {
  const std::size_t count = parts.settings.size() + refused;
  PackedBytes packed(sizeof(iotune_decision) + count * sizeof(iotune_decision_entry));
  iotune_decision head = {};
  head.version = IOTUNE_DECISION_VERSION;
  head.row = parts.row;
  head.distance_milli = parts.distance_milli;
  head.setting_count = offset(parts.settings.size());
  head.refused_count = offset(refused);
  head.pattern = offset(packed.add(parts.pattern.substr(0, kMostPattern)));
  head.message = offset(packed.add(parts.message.substr(0, kMostMessage)));
  head.source = static_cast<std::uint8_t>(parts.source);
  head.state = static_cast<std::uint8_t>(parts.state);
  head.sieves = parts.sieves ? 1 : 0;
  std::vector<iotune_decision_entry> entries;
  const auto add = [&](std::string_view name, std::string_view value, std::string_view detail) {
    entries.push_back(
        {offset(packed.add(name)), offset(packed.add(value)), offset(packed.add(detail))});
  };
  for (const DecisionParts::Entry& one : parts.settings) add(one.name, one.value, one.detail);
  for (std::size_t i = 0; i < refused; ++i) {
    const DecisionParts::Entry& one = parts.refused[i];
    add(one.name.substr(0, kMostRefusedName), one.value.substr(0, kMostRefusedValue),
        one.detail.substr(0, kMostReason));
  }
  return packed.finish(head, entries);
}

}  // namespace

std::string pack_decision(const DecisionParts& parts) {
  if (parts.settings.size() > IOTUNE_DECISION_MAX_SETTINGS) return {};
  std::size_t refused = std::min<std::size_t>(parts.refused.size(), IOTUNE_DECISION_MAX_REFUSED);
  for (;; --refused) {
    std::string packed = pack(parts, refused);
    if (packed.size() <= IOTUNE_DECISION_MAX_BYTES) return packed;
    if (refused == 0) return {};
  }
}

std::string pack_program_answer(const ProgramAnswerParts& parts, const std::string& decision) {
  PackedBytes packed(sizeof(iotune_program_answer));
  packed.add_bytes(decision);
  iotune_program_answer head = {};
  head.file = static_cast<std::uint32_t>(packed.add(parts.file));
  head.filesystem = static_cast<std::uint32_t>(packed.add(parts.filesystem));
  head.masked = parts.masked ? 1 : 0;
  head.creating = parts.creating ? 1 : 0;
  return packed.finish(head);
}

}  // namespace iotune::patterndb
