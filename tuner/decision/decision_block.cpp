#include "tuner/decision/decision_block.h"

#include <cstring>

#include "core/os/short_text.h"
#include "patterndb/settings/parameters.h"

namespace iotune::tuner {
namespace {

template <std::size_t N>
bool copy(char (&to)[N], const char* from, std::size_t bytes) noexcept {
  if (bytes >= N) return false;
  std::memcpy(to, from, bytes);
  to[bytes] = '\0';
  return true;
}

// "0.125" × 1000; digits past the third are dropped.
std::int64_t thousandths(const char* text, std::size_t bytes) noexcept {
  std::int64_t value = 0;
  int decimals = -1;
  for (std::size_t i = 0; i < bytes && decimals < 3; ++i) {
    if (text[i] == '.') {
      decimals = 0;
    } else if (text[i] >= '0' && text[i] <= '9') {
      value = value * 10 + (text[i] - '0');
      if (decimals >= 0) ++decimals;
    }
  }
  for (int i = decimals < 0 ? 0 : decimals; i < 3; ++i) value *= 10;
  return value;
}

bool add_setting(Decision& to, const char* text, std::size_t bytes) noexcept {
  const auto* const space = static_cast<const char*>(std::memchr(text, ' ', bytes));
  Setting* const slot = next_slot(to);
  if (space == nullptr || slot == nullptr) return false;
  Setting& setting = *slot;
  const auto name_bytes = static_cast<std::size_t>(space - text);
  const char* const value = space + 1;
  const std::size_t rest_bytes = bytes - name_bytes - 1;
  const auto* const behind = static_cast<const char*>(std::memchr(value, ' ', rest_bytes));
  const std::size_t value_bytes =
      behind == nullptr ? rest_bytes : static_cast<std::size_t>(behind - value);
  if (!copy(setting.name, text, name_bytes) || !copy(setting.value, value, value_bytes)) {
    return false;
  }
  if (behind != nullptr && !copy(setting.dataset, behind + 1, rest_bytes - value_bytes - 1)) {
    return false;
  }
  // Nothing that the table does not know, and no value outside its range, is applied.
  if (validate(setting.name, setting.value) != nullptr) return false;
  ++to.count;
  return true;
}

// "NAME VALUE REASON", which is for people: what is too long is cut.
void add_refused(Decision& to, const char* text, std::size_t bytes) noexcept {
  if (to.refused_count == Decision::kMaxRefused) return;
  RefusedSetting& refused = to.refused[to.refused_count];
  const auto take = [&](auto& field, bool last) {
    const auto* const space = static_cast<const char*>(std::memchr(text, ' ', bytes));
    const std::size_t word =
        last || space == nullptr ? bytes : static_cast<std::size_t>(space - text);
    const std::size_t kept = word < sizeof field ? word : sizeof field - 1;
    std::memcpy(field, text, kept);
    field[kept] = '\0';
    const std::size_t passed = word < bytes ? word + 1 : word;
    text += passed;
    bytes -= passed;
  };
  take(refused.name, false);
  take(refused.value, false);
  take(refused.reason, true);
  ++to.refused_count;
}

bool read_line(const char* line, std::size_t bytes, Decision& to, bool& ended) noexcept {
  const auto* const space = static_cast<const char*>(std::memchr(line, ' ', bytes));
  const std::size_t word = space == nullptr ? bytes : static_cast<std::size_t>(space - line);
  const char* const rest = space == nullptr ? line + bytes : space + 1;
  const std::size_t rest_bytes = bytes - static_cast<std::size_t>(rest - line);
  const auto is = [&](const char* name) {
    return std::strlen(name) == word && std::memcmp(line, name, word) == 0;
  };
  if (is("source")) return copy(to.source, rest, rest_bytes);
  if (is("state")) return copy(to.state, rest, rest_bytes);
  if (is("pattern")) return copy(to.pattern, rest, rest_bytes < 511 ? rest_bytes : 511);
  if (is("message")) return copy(to.message, rest, rest_bytes < 511 ? rest_bytes : 511);
  if (is("set")) return add_setting(to, rest, rest_bytes);
  if (is("refuse")) {
    add_refused(to, rest, rest_bytes);
    return true;
  }
  if (is("sieves")) {
    to.sieves = true;
    return true;
  }
  if (is("distance")) {
    to.distance_milli = thousandths(rest, rest_bytes);
    return true;
  }
  if (is("mca")) {
    to.own_parameters = static_cast<unsigned>(parse_decimal(rest));
    return true;
  }
  if (is("row")) {
    const bool negative = rest_bytes > 0 && *rest == '-';
    const auto value = static_cast<std::int64_t>(parse_decimal(rest + (negative ? 1 : 0)));
    to.row = negative ? -value : value;
    return true;
  }
  if (is("end")) {
    ended = true;
    return true;
  }
  return true;  // a newer helper may say more
}

}  // namespace

void clear(Decision& decision) noexcept {
  decision.source[0] = decision.state[0] = decision.pattern[0] = decision.message[0] = '\0';
  decision.row = decision.distance_milli = 0;
  decision.own_parameters = 0;
  decision.sieves = false;
  decision.count = decision.refused_count = 0;
}

Setting* next_slot(Decision& decision) noexcept {
  if (decision.count == Decision::kMaxSettings) return nullptr;
  Setting* const slot = &decision.settings[decision.count];
  std::memset(slot, 0, sizeof *slot);
  return slot;
}

bool parse_decision(const char* text, std::size_t bytes, Decision& to) noexcept {
  clear(to);
  to.row = to.distance_milli = -1;
  static constexpr char kHead[] = "iotune-decision 1\n";
  constexpr std::size_t kHeadBytes = sizeof kHead - 1;
  if (bytes < kHeadBytes || std::memcmp(text, kHead, kHeadBytes) != 0) return false;
  bool ended = false;
  for (std::size_t at = kHeadBytes; at < bytes && !ended;) {
    const auto* const newline = static_cast<const char*>(std::memchr(text + at, '\n', bytes - at));
    if (newline == nullptr) break;
    const auto length = static_cast<std::size_t>(newline - (text + at));
    if (!read_line(text + at, length, to, ended)) return false;
    at += length + 1;
  }
  return ended;
}

std::size_t add_own_parameters(char* text, std::size_t bytes, unsigned parameters) noexcept {
  static constexpr char kEnd[] = "end\n";
  constexpr std::size_t kEndBytes = sizeof kEnd - 1;
  ShortText<32> line;
  line << "mca " << parameters << '\n' << kEnd;
  if (parameters == 0 || bytes < kEndBytes ||
      bytes - kEndBytes + line.size() > IOTUNE_DECISION_MAX_BYTES ||
      std::memcmp(text + bytes - kEndBytes, kEnd, kEndBytes) != 0) {
    return bytes;
  }
  std::memcpy(text + bytes - kEndBytes, line.c_str(), line.size());
  return bytes - kEndBytes + line.size();
}

bool names_settings(const char* text, std::size_t bytes) noexcept {
  static constexpr char kLine[] = "\nset ";
  return memmem(text, bytes, kLine, sizeof kLine - 1) != nullptr;
}

int unasked_opens(const char* text, std::size_t bytes) noexcept {
  static constexpr char kLine[] = "\nunasked ";
  const void* const line = memmem(text, bytes, kLine, sizeof kLine - 1);
  if (line == nullptr) return 0;
  return static_cast<int>(parse_decimal(static_cast<const char*>(line) + sizeof kLine - 1));
}

const char* find_setting(const Decision& decision, const char* name) noexcept {
  for (int i = 0; i < decision.count; ++i) {
    const Setting& setting = decision.settings[i];
    if (setting.dataset[0] == '\0' && std::strcmp(setting.name, name) == 0) return setting.value;
  }
  return nullptr;
}

std::uint64_t hash_text(std::uint64_t hash, const char* text) noexcept {
  for (; *text != '\0'; ++text) {
    hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001b3u;
  }
  return (hash ^ 0xffu) * 0x100000001b3u;  // an end mark: "ab","c" is not "a","bc"
}

}  // namespace iotune::tuner
