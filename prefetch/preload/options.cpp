#include "prefetch/preload/options.h"

#include <cstring>

#include "core/os/short_text.h"

namespace iotune::prefetch {
namespace {

struct Name {
  const char* said;
  const char* kind;
};
constexpr Name kPredictors[] = {
    {"pattern", "nest"}, {"he2013", "unit"}, {"markov", "markov"}, {"recorded", "recorded"}};
constexpr std::uint64_t kMemoryMib = 64, kMostMemoryMib = 16384;  // of the cache

void complain(const PrefetchHost& host, const char* variable, const char* value,
              const char* known) noexcept {
  ShortText<256> text;
  text << variable << '=' << value << " is none of " << known << ": nothing is prefetched";
  host.say(text.c_str());
}

bool read_schedule(const PrefetchHost& host, const Schedule*& schedule) noexcept {
  schedule = host.schedule == nullptr ? schedules().front() : schedule_named(host.schedule);
  if (schedule != nullptr) return true;
  ShortText<64> known;
  for (const Schedule* const one : schedules()) {
    known << (one == schedules().front() ? "" : ", ") << one->name;
  }
  complain(host, "IOTUNE_PREFETCH_SCHEDULE", host.schedule, known.c_str());
  return false;
}

bool read_delivery(const PrefetchHost& host, Delivery& delivery) noexcept {
  const char* const text = host.delivery;
  if (text == nullptr || std::strcmp(text, "hint") == 0) return true;
  delivery = Delivery::kCache;
  if (std::strcmp(text, "cache") == 0) return true;
  complain(host, "IOTUNE_PREFETCH_DELIVERY", text, "hint, cache");
  return false;
}

bool read_memory(const PrefetchHost& host, std::uint64_t& bytes) noexcept {
  const char* const text = host.memory_mib;
  std::uint64_t mib = text == nullptr ? kMemoryMib : 0;
  for (const char* at = text; at != nullptr && *at != '\0' && mib <= kMostMemoryMib; ++at) {
    mib = *at >= '0' && *at <= '9' ? mib * 10 + static_cast<unsigned>(*at - '0') : UINT32_MAX;
  }
  bytes = mib << 20;
  if (mib >= 1 && mib <= kMostMemoryMib) return true;
  complain(host, "IOTUNE_PREFETCH_MEMORY_MIB", text, "1 to 16384");
  return false;
}

}  // namespace

PrefetchOptions read_options(const PrefetchHost& host) noexcept {
  PrefetchOptions options;
  for (const Name& name : kPredictors) {
    if (std::strcmp(host.predictor, name.said) != 0) continue;
    if (!read_schedule(host, options.schedule) || !read_delivery(host, options.delivery) ||
        !read_memory(host, options.memory_bytes)) {
      return {};
    }
    options.kind = patterns::predictor_kind(name.kind);
    options.name = name.said;
    options.keeps = name.said[0] == 'm' || name.said[0] == 'r';
    return options;
  }
  complain(host, "IOTUNE_PREFETCH", host.predictor, "none, pattern, he2013, markov, recorded");
  return options;
}

}  // namespace iotune::prefetch
