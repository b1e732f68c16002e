#include "tuner/decision/packed_decision.h"

#include <cstring>

#include "core/os/short_text.h"
#include "patterndb/settings/parameters.h"

namespace iotune::tuner {
namespace {

// Values and names of datasets that are longer are no settings of ours.
constexpr std::size_t kMostValue = 255, kMostDataset = 127;
constexpr std::size_t kAlignment = alignof(iotune_decision);

const char* bytes_of(const Decision& decision) noexcept {
  return reinterpret_cast<const char*>(&decision);
}

const char* text_at(const Decision& decision, std::uint16_t offset) noexcept {
  return offset == 0 ? "" : bytes_of(decision) + offset;  // 0: of no decision
}

const iotune_decision_entry& entry_of(const Decision& decision, int index) noexcept {
  return reinterpret_cast<const iotune_decision_entry*>(&decision + 1)[index];
}

int entry_count(const Decision& decision) noexcept {
  return decision.setting_count + decision.refused_count;
}

bool is_known(const Setting& setting) noexcept {
  return std::strlen(setting.value) <= kMostValue && std::strlen(setting.dataset) <= kMostDataset &&
         validate(setting.name, setting.value) == nullptr;
}

// A multiple of the alignment with a NUL at its end, so that each text within ends there.
bool ends_well(const void* packed, std::size_t bytes) noexcept {
  return bytes % kAlignment == 0 && static_cast<const char*>(packed)[bytes - 1] == '\0';
}

}  // namespace

void clear(Decision& decision) noexcept {
  std::memset(&decision, 0, sizeof decision);
  decision.version = IOTUNE_DECISION_VERSION;
  decision.row = decision.distance_milli = -1;
}

bool is_whole(const Decision& decision, std::size_t room) noexcept {
  if (room < sizeof decision || decision.version != IOTUNE_DECISION_VERSION ||
      decision.bytes <= sizeof decision || decision.bytes > room ||
      decision.bytes > IOTUNE_DECISION_MAX_BYTES || !ends_well(&decision, decision.bytes)) {
    return false;
  }
  if (decision.source == IOTUNE_SOURCE_NONE || decision.source >= IOTUNE_SOURCES ||
      decision.state >= IOTUNE_STATES || decision.setting_count > IOTUNE_DECISION_MAX_SETTINGS ||
      decision.refused_count > IOTUNE_DECISION_MAX_REFUSED) {
    return false;
  }
  const int entries = entry_count(decision);
  const std::size_t texts =
      sizeof decision + static_cast<std::size_t>(entries) * sizeof(iotune_decision_entry);
  const auto lies_inside = [&](std::uint16_t offset) {
    return offset >= texts && offset < decision.bytes;
  };
  if (!lies_inside(decision.pattern) || !lies_inside(decision.message)) return false;
  for (int i = 0; i < entries; ++i) {
    const iotune_decision_entry& entry = entry_of(decision, i);
    if (!lies_inside(entry.name) || !lies_inside(entry.value) || !lies_inside(entry.detail)) {
      return false;
    }
  }
  for (int i = 0; i < decision.setting_count; ++i) {
    if (!is_known(setting_of(decision, i))) return false;
  }
  return true;
}

Setting setting_of(const Decision& decision, int index) noexcept {
  const iotune_decision_entry& entry = entry_of(decision, index);
  return {text_at(decision, entry.name), text_at(decision, entry.value),
          text_at(decision, entry.detail)};
}

RefusedSetting refused_of(const Decision& decision, int index) noexcept {
  const iotune_decision_entry& entry = entry_of(decision, decision.setting_count + index);
  return {text_at(decision, entry.name), text_at(decision, entry.value),
          text_at(decision, entry.detail)};
}

const char* pattern_of(const Decision& decision) noexcept {
  return text_at(decision, decision.pattern);
}

const char* message_of(const Decision& decision) noexcept {
  return text_at(decision, decision.message);
}

bool names_settings(const Decision& decision, const char* prefix) noexcept {
  for (int i = 0; i < decision.setting_count; ++i) {
    if (starts_with(setting_of(decision, i).name, prefix)) return true;
  }
  return false;
}

void add(SettingList& list, const Setting& setting) noexcept {
  if (list.count < kMaxSettings) list.settings[list.count++] = setting;
}

void fill(SettingList& list, const Decision& decision) noexcept {
  clear(list);
  for (int i = 0; i < decision.setting_count; ++i) add(list, setting_of(decision, i));
}

const char* find_setting(const SettingList& list, const char* name) noexcept {
  for (int i = 0; i < list.count; ++i) {
    const Setting& setting = list.settings[i];
    if (setting.dataset[0] == '\0' && std::strcmp(setting.name, name) == 0) return setting.value;
  }
  return nullptr;
}

bool are_whole(const void* answers, std::size_t bytes) noexcept {
  for (const char* at = static_cast<const char*>(answers); bytes > 0;) {
    const auto& answer = *reinterpret_cast<const iotune_program_answer*>(at);
    if (bytes < sizeof answer || answer.bytes <= sizeof answer || answer.bytes > bytes ||
        !ends_well(at, answer.bytes) ||
        !is_whole(decision_of(answer), answer.bytes - sizeof answer)) {
      return false;
    }
    const std::size_t texts = sizeof answer + decision_of(answer).bytes;
    const auto lies_inside = [&](std::uint32_t offset) {
      return offset >= texts && offset < answer.bytes;
    };
    if (!lies_inside(answer.file) || !lies_inside(answer.filesystem)) return false;
    at += answer.bytes;
    bytes -= answer.bytes;
  }
  return true;
}

const Decision& decision_of(const iotune_program_answer& answer) noexcept {
  return *reinterpret_cast<const Decision*>(&answer + 1);
}

const char* text_of(const iotune_program_answer& answer, std::uint32_t offset) noexcept {
  return reinterpret_cast<const char*>(&answer) + offset;
}

std::uint64_t hash_text(std::uint64_t hash, const char* text) noexcept {
  for (; *text != '\0'; ++text) {
    hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001b3u;
  }
  return (hash ^ 0xffu) * 0x100000001b3u;  // an end mark: "ab","c" is not "a","bc"
}

}  // namespace iotune::tuner
