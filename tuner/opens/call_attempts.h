// An open that fails with our settings is made again: without one of them in turn, so that the
// others still hold beside the one that was refused, and at last as the program asked for it.
#pragma once

#include "core/os/short_text.h"
#include "tuner/decision/packed_decision.h"

namespace iotune::tuner {

struct CallAttempts {
  int candidates[kMaxSettings];  // settings the call carries, by index of the decision
  int count;
  // Which candidate the call now under way goes without: kNone, or `count`: all of them.
  static constexpr int kNone = -1;
  int without;
  bool failed;           // some call has
  ShortText<231> words;  // what it said then; may be empty
};

// No candidates, nothing left out.
void clear(CallAttempts& attempts) noexcept;
void add_candidate(CallAttempts& attempts, int index) noexcept;

// To what the next call goes without. `own`: the program's own call comes next.
void advance(CallAttempts& attempts, bool own) noexcept;
bool is_own_call(const CallAttempts& attempts) noexcept;

// Whether the call goes without the setting (Reason::kCallFailed, with the words).
bool is_left_out(const CallAttempts& attempts, int index) noexcept;

// Keeps what the first failure said; `words` may be empty.
void keep_words(CallAttempts& attempts, const char* words) noexcept;

}  // namespace iotune::tuner
