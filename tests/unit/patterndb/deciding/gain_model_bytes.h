// Gain models made by hand, as iotune.models.gains writes them.
#pragma once

#include <cstring>
#include <string>

#include "patterndb/gains/gain_model.h"

namespace iotune::patterndb::testing {

struct HandMade {
  double price_of_moved_byte = 0;
  // One tree: where `input` is at most `threshold` the answer is `below`, else `above`.
  std::int16_t input = 0;
  double threshold = 0, below = 0, above = 0;
  double low = -1e6, high = 1e6;  // range of every feature of the pattern
  double floor = 0.1, low_scale = 1, high_scale = 1;
  double sieved_low_scale = 1, chosen_scale = 0, outside_low = 0.5, outside_high = 0.5;
  double chosen_outside = 0;
};

template <typename T>
void append(std::string& bytes, T value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  bytes.append(raw, sizeof value);
}

inline std::uint64_t checksum_of_names() {
  std::string names;
  for (const char* name : kFeatureNames) names += std::string(name) + "\n";
  for (const char* name : kCostTermNames) names += std::string(name) + "\n";
  return checksum(names);
}

inline std::string bytes_of(const HandMade& model) {
  std::string bytes = "iotuneG2";
  for (const std::size_t one : {kFeatureCount, kCostTermCount, std::size_t{1}, std::size_t{3}}) {
    append(bytes, static_cast<std::uint32_t>(one));
  }
  append(bytes, checksum_of_names());
  for (const char* name : kCostTermNames) {
    append(bytes, std::string(name) == "moved_bytes" ? model.price_of_moved_byte : 0.0);
  }
  for (std::size_t i = 0; i < kPatternFeatureCount; ++i) {
    append(bytes, model.low);
    append(bytes, model.high);
  }
  append(bytes, model.floor);
  for (std::size_t way = 0; way < kWays; ++way) {
    const bool sieved = way == static_cast<std::size_t>(Way::kSieved);
    append(bytes, sieved ? model.sieved_low_scale : model.low_scale);
    append(bytes, model.high_scale);
  }
  for (const double one :
       {model.chosen_scale, model.outside_low, model.outside_high, model.chosen_outside}) {
    append(bytes, one);
  }
  append(bytes, std::uint32_t{0});
  for (const double one : {model.threshold, model.below, model.above}) append(bytes, one);
  for (const std::int32_t one : {2, 0, 0}) append(bytes, one);
  append(bytes, model.input);
  for (int i = 0; i < 2; ++i) append(bytes, std::int16_t{-1});
  append(bytes, checksum(bytes));
  return bytes;
}

// The place of a feature among the inputs.
inline std::int16_t place_of(const std::string& name) {
  for (std::size_t i = 0; i < kFeatureCount; ++i) {
    if (kFeatureNames[i] == name) return static_cast<std::int16_t>(i);
  }
  return -1;
}

}  // namespace iotune::patterndb::testing
