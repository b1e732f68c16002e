#include "tuner/outcome_notes.h"

#include "recorder/preload/process_buffer.h"
#include "recorder/preload/record_writer.h"

namespace iotune::tuner {

using recorder::CallNumber;
using recorder::RecordWriter;

void note_decision(const char* file, const Decision& decision) noexcept {
  if (!recorder::buffer_exists()) return;
  RecordWriter record(CallNumber::kiotune_decision, recorder::ticks_now());
  record.number(decision.row);
  record.number(decision.distance_milli);
  // States in the order of decision.h; -1 for none of them.
  static constexpr const char* kStates[] = {"untrained", "default-is-best", "tuned", "reverted",
                                            "refused"};
  std::int64_t state = -1;
  for (int i = 0; i < 5; ++i) {
    if (std::strcmp(kStates[i], decision.state) == 0) state = i;
  }
  record.number(state);
  record.text(file);
  record.text(decision.source);
  record.text(decision.pattern);
  record.text(decision.message);
  record.commit();
}

void note_setting(const char* file, const char* parameter, const char* wanted, const char* got,
                  Verdict verdict, const char* reason) noexcept {
  if (!recorder::buffer_exists()) return;
  RecordWriter record(CallNumber::kiotune_setting, recorder::ticks_now());
  record.number(static_cast<std::int64_t>(verdict));
  record.text(file);
  record.text(parameter);
  record.text(wanted);
  record.text(got);
  record.text(reason);
  record.commit();
}

}  // namespace iotune::tuner
