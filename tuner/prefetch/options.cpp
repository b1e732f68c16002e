#include "tuner/prefetch/options.h"

#include <cstring>

#include "recorder/preload/at_start.h"
#include "recorder/preload/configuration.h"
#include "recorder/preload/short_text.h"

namespace iotune::tuner {
namespace {

struct Name {
  const char* said;
  const char* kind;
};
constexpr Name kPredictors[] = {
    {"pattern", "nest"}, {"he2013", "unit"}, {"markov", "markov"}, {"recorded", "recorded"}};
constexpr const char* kSchedules[] = {"none", "pp", "ppis", "ours"};

void complain(const char* variable, const char* value, const char* known) noexcept {
  recorder::ShortText<256> text;
  text << variable << '=' << value << " is none of " << known << ": nothing is prefetched";
  recorder::say(text.c_str());
}

bool read_schedule(const char* text, Schedule& schedule) noexcept {
  if (text == nullptr) return true;
  for (int i = 0; i < 4; ++i) {
    if (std::strcmp(text, kSchedules[i]) != 0) continue;
    schedule = static_cast<Schedule>(i);
    return true;
  }
  complain("IOTUNE_PREFETCH_SCHEDULE", text, "none, pp, ppis, ours");
  return false;
}

}  // namespace

IOTUNE_START_CODE PrefetchOptions read_options() noexcept {
  PrefetchOptions options;
  const recorder::Configuration& said = recorder::configuration();
  if (said.prefetch == nullptr || std::strcmp(said.prefetch, "none") == 0) return options;
  for (const Name& name : kPredictors) {
    if (std::strcmp(said.prefetch, name.said) != 0) continue;
    if (!read_schedule(said.prefetch_schedule, options.schedule)) return {};
    options.kind = patterns::predictor_kind(name.kind);
    options.name = name.said;
    options.keeps = name.said[0] == 'm' || name.said[0] == 'r';
    return options;
  }
  complain("IOTUNE_PREFETCH", said.prefetch, "none, pattern, he2013, markov, recorded");
  return options;
}

}  // namespace iotune::tuner
