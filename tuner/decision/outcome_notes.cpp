#include "tuner/decision/outcome_notes.h"

#include "core/process/process_events.h"
#include "core/words/decision_words.h"
#include "recorder/decision_digest.h"
#include "recorder/ring/file_sample.h"
#include "recorder/ring/process_buffer.h"
#include "recorder/ring/record_writer.h"
#include "tuner/decision/applied_log.h"

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

void note_refused(const char* file, const Decision& decision) noexcept {
  for (int i = 0; i < decision.refused_count; ++i) {
    const RefusedSetting one = refused_of(decision, i);
    note_setting(file, one.name, one.value, "", Verdict::kRefused, {Reason::kInWords, one.reason});
  }
}

void record_decision(const char* file, const Decision& decision) noexcept {
  RecordWriter record(CallNumber::kiotune_decision, ticks_now());
  record.number(decision.row);
  record.number(decision.distance_milli);
  record.number(std::int64_t{decision.state});
  record.text(file);
  record.text(source_name(decision.source));
  record.text(pattern_of(decision));
  record.text(message_of(decision));
  record.commit();
}

}  // namespace

void note_decision(const char* file, const Decision& decision) noexcept {
  count_decision(file, decision);
  if (recorder::buffer_exists()) record_decision(file, decision);
  note_refused(file, decision);
}

void note_decision_of_hdf5(const char* file, std::int64_t handle,
                           const Decision& decision) noexcept {
  if (!recorder::buffer_exists()) return note_decision(file, decision);
  const std::int64_t digest = recorder::decision_digest(
      decision.row, decision.distance_milli, decision.state, source_name(decision.source),
      pattern_of(decision), message_of(decision));
  g_after_fork.enlist();
  std::int64_t& place = g_noted[static_cast<std::uint64_t>(digest) % kNoted];
  const bool known = __atomic_exchange_n(&place, digest, __ATOMIC_RELAXED) == digest;
  if (!known || !recorder::is_opening_unrecorded()) return note_decision(file, decision);
  RecordWriter record(CallNumber::kiotune_decision_again, ticks_now());
  record.number(handle);
  record.number(digest);
  record.commit();
  count_decision(file, decision);
  note_refused(file, decision);
}

void note_setting(const char* file, const char* parameter, const char* wanted, const char* got,
                  Verdict verdict, const Why& why) noexcept {
  count_outcome(file, parameter, wanted, verdict, why);
  if (!recorder::buffer_exists()) return;
  ReasonText reason;
  write_reason(why, reason);
  RecordWriter record(CallNumber::kiotune_setting, ticks_now());
  record.number(static_cast<std::int64_t>(verdict));
  record.text(file);
  record.text(parameter);
  record.text(wanted);
  record.text(got);
  record.text(reason.c_str());
  record.commit();
}

}  // namespace iotune::tuner
