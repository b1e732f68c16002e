// Reads a decision as the database library packs it (patterndb/decide/decision.h) and rank 0
// broadcasts it: contiguous bytes that are checked once, with texts that are used where they stand.
#pragma once

#include <cstddef>
#include <cstdint>

#include "patterndb/decide/decision.h"

namespace iotune::tuner {

using Decision = iotune_decision;

inline constexpr int kMaxSettings = IOTUNE_DECISION_MAX_SETTINGS;

// The texts belong to the decision, or to the code that made the setting.
struct Setting {
  const char* name;
  const char* value;
  const char* dataset;  // to which it applies; empty: to all
};

// A setting that the gate of the database library refused.
struct RefusedSetting {
  const char* name;
  const char* value;
  const char* reason;
};

// Makes it no decision: nothing is set and there is no message.
void clear(Decision& decision) noexcept;

// Whether `room` bytes hold a whole decision of this version: counts, offsets and texts lie inside
// of them, and each setting is one that parameters.h knows, with a value in its range. The
// functions below take no other decision.
bool is_whole(const Decision& decision, std::size_t room) noexcept;

Setting setting_of(const Decision& decision, int index) noexcept;
RefusedSetting refused_of(const Decision& decision, int index) noexcept;
const char* pattern_of(const Decision& decision) noexcept;
const char* message_of(const Decision& decision) noexcept;

// Whether some setting's name begins so.
bool names_settings(const Decision& decision, const char* prefix) noexcept;

// The settings of a decision that one layer applies.
struct SettingList {
  int count;
  Setting settings[kMaxSettings];  // those behind `count` are not initialised
};
inline void clear(SettingList& list) noexcept {
  list.count = 0;
}
// Does nothing where the list is full.
void add(SettingList& list, const Setting& setting) noexcept;
// Adds all settings of the decision.
void fill(SettingList& list, const Decision& decision) noexcept;

// The value of a setting for all datasets, nullptr where there is none.
const char* find_setting(const SettingList& list, const char* name) noexcept;

// Whether `bytes` of answers of iotune_program_answers are all whole.
bool are_whole(const void* answers, std::size_t bytes) noexcept;
// The decision right behind an answer, and its texts.
const Decision& decision_of(const iotune_program_answer& answer) noexcept;
const char* text_of(const iotune_program_answer& answer, std::uint32_t offset) noexcept;

// FNV-1a, by which ranks compare the settings that each would apply.
inline constexpr std::uint64_t kHashStart = 0xcbf29ce484222325u;
std::uint64_t hash_text(std::uint64_t hash, const char* text) noexcept;

}  // namespace iotune::tuner
