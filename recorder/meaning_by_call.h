// A byte of each call's meaning, chosen at compile time: code that runs in every process looks up
// as little as it needs, and the library does not carry the rest of the table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "recorder/call_meanings.h"

namespace iotune::recorder {

class MeaningByCall {
 public:
  // `byte_of`: a CallMeaning to what is looked up.
  template <typename ByteOf>
  explicit consteval MeaningByCall(ByteOf byte_of) noexcept {
    for (std::size_t i = 0; i < kCallCount; ++i) bytes_[i] = byte_of(kCallMeanings[i]);
  }
  constexpr std::int8_t operator[](CallNumber number) const noexcept {
    return bytes_[static_cast<std::size_t>(number)];
  }

 private:
  std::array<std::int8_t, kCallCount> bytes_{};
};

inline constexpr MeaningByCall kVerbs([](const CallMeaning& meaning) {
  return static_cast<std::int8_t>(meaning.verb);
});

// Of a number that is known at compile time this is no look-up.
constexpr bool does(CallNumber number, Verb verb) noexcept {
  return kVerbs[number] == static_cast<std::int8_t>(verb);
}

}  // namespace iotune::recorder
