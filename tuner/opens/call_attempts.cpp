#include "tuner/opens/call_attempts.h"

namespace iotune::tuner {

void clear(CallAttempts& attempts) noexcept {
  attempts.count = 0;
  attempts.without = CallAttempts::kNone;
  attempts.failed = false;
  attempts.words.clear();
}

void add_candidate(CallAttempts& attempts, int index) noexcept {
  if (attempts.count < kMaxSettings) attempts.candidates[attempts.count++] = index;
}

void advance(CallAttempts& attempts, bool own) noexcept {
  // Without the only one a call is the program's own.
  attempts.without = own || attempts.count < 2 ? attempts.count : attempts.without + 1;
}

bool is_own_call(const CallAttempts& attempts) noexcept {
  return attempts.without == attempts.count;
}

bool is_left_out(const CallAttempts& attempts, int index) noexcept {
  if (attempts.without == CallAttempts::kNone) return false;
  for (int i = 0; i < attempts.count; ++i) {
    const bool left_out = is_own_call(attempts) || i == attempts.without;
    if (left_out && attempts.candidates[i] == index) return true;
  }
  return false;
}

void keep_words(CallAttempts& attempts, const char* words) noexcept {
  if (attempts.failed) return;
  attempts.failed = true;
  attempts.words << words;
}

}  // namespace iotune::tuner
