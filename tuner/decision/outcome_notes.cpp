#include "tuner/decision/outcome_notes.h"

#include <cstring>

#include "core/process/process_events.h"
#include "recorder/decision_digest.h"
#include "recorder/ring/file_sample.h"
#include "recorder/ring/process_buffer.h"
#include "recorder/ring/record_writer.h"

namespace iotune::tuner {

using recorder::CallNumber;
using recorder::RecordWriter;

namespace {

// Digests of what was noted whole, each in the place of its lowest bits.
constexpr std::size_t kNoted = 64;
constinit std::int64_t g_noted[kNoted] = {};
// The child's trace is another one.
constinit AfterFork g_after_fork([]() noexcept {
  for (std::int64_t& digest : g_noted) __atomic_store_n(&digest, 0, __ATOMIC_RELAXED);
});

// In the order of decision.h; -1 for none of them.
std::int64_t state_number(const char* state) noexcept {
  static constexpr const char* kStates[] = {"untrained", "default-is-best", "tuned", "reverted",
                                            "refused"};
  for (int i = 0; i < 5; ++i) {
    if (std::strcmp(kStates[i], state) == 0) return i;
  }
  return -1;
}

void note_refused(const char* file, const Decision& decision) noexcept {
  for (int i = 0; i < decision.refused_count; ++i) {
    const RefusedSetting& one = decision.refused[i];
    note_setting(file, one.name, one.value, "", Verdict::kRefused, one.reason);
  }
}

}  // namespace

void note_decision(const char* file, const Decision& decision) noexcept {
  if (!recorder::buffer_exists()) return;
  RecordWriter record(CallNumber::kiotune_decision, ticks_now());
  record.number(decision.row);
  record.number(decision.distance_milli);
  record.number(state_number(decision.state));
  record.text(file);
  record.text(decision.source);
  record.text(decision.pattern);
  record.text(decision.message);
  record.commit();
  note_refused(file, decision);
}

void note_decision_of_hdf5(const char* file, std::int64_t handle,
                           const Decision& decision) noexcept {
  if (!recorder::buffer_exists()) return;
  const std::int64_t digest =
      recorder::decision_digest(decision.row, decision.distance_milli, state_number(decision.state),
                                decision.source, decision.pattern, decision.message);
  g_after_fork.enlist();
  std::int64_t& place = g_noted[static_cast<std::uint64_t>(digest) % kNoted];
  const bool known = __atomic_exchange_n(&place, digest, __ATOMIC_RELAXED) == digest;
  if (!known || !recorder::is_opening_unrecorded()) return note_decision(file, decision);
  RecordWriter record(CallNumber::kiotune_decision_again, ticks_now());
  record.number(handle);
  record.number(digest);
  record.commit();
  note_refused(file, decision);
}

void note_setting(const char* file, const char* parameter, const char* wanted, const char* got,
                  Verdict verdict, const char* reason) noexcept {
  if (!recorder::buffer_exists()) return;
  RecordWriter record(CallNumber::kiotune_setting, ticks_now());
  record.number(static_cast<std::int64_t>(verdict));
  record.text(file);
  record.text(parameter);
  record.text(wanted);
  record.text(got);
  record.text(reason);
  record.commit();
}

}  // namespace iotune::tuner
