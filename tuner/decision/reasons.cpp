#include "tuner/decision/reasons.h"

#include <cstring>

namespace iotune::tuner {
namespace {

// One text behind the other, in the order of the enumeration: pointers to them would be relocated
// at each start of a program.
constexpr char kTexts[] =
#define IOTUNE_REASON(name, text) text "\0"
#include "tuner/decision/reasons.inc"
#undef IOTUNE_REASON
    ;

const char* text_of(Reason reason) noexcept {
  const char* text = kTexts;
  for (int left = static_cast<int>(reason); left > 0; --left) text += std::strlen(text) + 1;
  return text;
}

}  // namespace

void write_reason(const Why& why, ReasonText& to) noexcept {
  const char* text = text_of(why.reason);
  if (why.dataset != nullptr) {
    to << why.dataset;
    if (text[0] != '\0') to << ": ";
  }
  for (int next = 0; *text != '\0'; ++text) {
    if (*text == '%') {
      to << why.numbers[next++];
    } else {
      to << *text;
    }
  }
  if (why.words[0] == '\0') return;
  if (to.size() > 0) to << ": ";
  to << why.words;
}

}  // namespace iotune::tuner
