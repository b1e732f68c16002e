#include "prefetch/streams/stream.h"

#include <algorithm>
#include <new>

#include "patterns/predict/best_predictor.h"

namespace iotune::prefetch {
namespace {

using patterns::Extent;
using patterns::NestPredictor;
using patterns::Prediction;

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint8_t kMostWorth = 64, kWorthOfAWait = 8;
constexpr unsigned kFairAtFirst = 12, kHitsForOneUnused = 20;
constexpr std::uint8_t kTimelyRun = 64;
// So many hits in a row that waited as long as if nothing had been requested: the storage keeps
// nothing for us (no page cache), and the stream is left alone for kLongRest reads.
constexpr std::uint8_t kMostFruitless = 64;
constexpr std::uint16_t kLongRest = 4096, kMostRest = 64;
// Where loops explain less of so many reads, other predictors may know more.
constexpr std::uint64_t kReadsOfLoops = 32;
constexpr float kShareOfLoops = 0.5F;

NestPredictor& nest(std::byte* memory) noexcept {
  return *std::launder(reinterpret_cast<NestPredictor*>(memory));
}

// An eighth of the way to `value`; one value counts at most four times what is usual; `least` is
// always believed.
void smooth(std::uint32_t& usual, std::uint64_t value, std::uint64_t least) noexcept {
  const std::uint64_t before = usual;
  const std::uint64_t counted = before == 0 ? value : std::min(value, 4 * before + least);
  const std::uint64_t now = before == 0 ? counted : before - before / 8 + counted / 8;
  usual = static_cast<std::uint32_t>(std::min<std::uint64_t>(now, UINT32_MAX));
}

bool joins(const Extent& before, const Extent& after) noexcept {
  const std::uint64_t end = static_cast<std::uint64_t>(before.offset + before.length);
  const std::uint64_t last_page_end = (end + kPageBytes - 1) / kPageBytes * kPageBytes;
  return after.offset >= before.offset && static_cast<std::uint64_t>(after.offset) <= last_page_end;
}

}  // namespace

Stream::Stream(const patterns::PredictorKind& kind, std::byte* predictor, const Limits& limits,
               bool known) noexcept
    : kind_(&kind),
      predictor_(predictor),
      limits_(&limits),
      is_nest_(kind.name == "nest"),
      is_fair_(is_nest_),
      trust_(known ? kMostAhead : 0),
      worth_(known ? kWorthOfAWait : 0) {}

unsigned Stream::depth() const noexcept {
  // One read that waited may have been interrupted by another process, no more.
  if (worth_ <= kWorthOfAWait || trust_ == 0 || latency_ == 0) return 0;
  // One right prediction may be chance: where chance has misled before, it takes two.
  const std::uint32_t unused = counts_.requested - counts_.hits - requested_.held();
  if (trust_ == 1 && unused > counts_.requested / 8) return 0;
  return std::min({due() + more_, unsigned{trust_}, limits_->most_ahead, kMostAhead, fair(unused)});
}

// Where reads follow at once upon each other no depth is enough, and who does not know when the
// stream ends has asked for all of the depth without use: as much as a share of what was right.
unsigned Stream::fair(std::uint32_t unused) const noexcept {
  if (!is_fair_) return kMostAhead;
  const std::uint32_t share = counts_.hits / kHitsForOneUnused;
  return std::max(kFairAtFirst, share > unused ? share - unused : 0u);
}

bool Stream::wants_best() const noexcept {
  return is_nest_ && counts_.reads >= kReadsOfLoops && worth_ > kWorthOfAWait &&
         nest(predictor_).share() < kShareOfLoops;
}

void Stream::go_on_with_best(std::byte* memory) noexcept {
  new (memory) patterns::BestPredictor(nest(predictor_));
  predictor_ = memory;
  kind_ = patterns::predictor_kind("best");
  is_nest_ = false;
}

// What becomes due while one read is served; one more, because a hit takes time as well, and one to
// begin with. A mean of the time between reads would not do: where they come in bursts, all of the
// next burst has to be there when it begins.
unsigned Stream::due() const noexcept {
  return std::max(in_window_, burst_) + 2u;
}

void Stream::saw_gap(std::uint64_t gap) noexcept {
  if (window_gone_ + gap < latency_) {
    window_gone_ += static_cast<std::uint32_t>(gap);
    if (in_window_ < kMostAhead) ++in_window_;
    return;
  }
  const int fewer = burst_ - in_window_;
  burst_ = fewer > 0 ? static_cast<std::uint8_t>(burst_ - (fewer + 7) / 8) : in_window_;
  window_gone_ = 0;
  in_window_ = 0;
}

// Whether the access was what the predictor said. Tells it what came.
bool Stream::saw_prediction(const Extent& access) noexcept {
  if (is_nest_) {
    NestPredictor& predictor = nest(predictor_);
    const bool right = predictor.expects(access);
    predictor.observe(access);
    return right;
  }
  Prediction next;
  const bool right = kind_->predict(predictor_, {&next, 1}) == 1 && next.extent == access;
  kind_->observe(predictor_, access);
  return right;
}

void Stream::saw_hit(const Extent& access, std::uint64_t duration) noexcept {
  ++counts_.hits;
  counts_.hit_bytes += static_cast<std::uint64_t>(access.length);
  if (duration < latency_) counts_.saved += latency_ - duration;
  const bool waited = duration >= limits_->quick && duration > latency_ / 4;
  // Right behind a surprise, and until a greater depth has had its effect, it was requested later
  // than the depth would have it.
  const bool had_its_time = timely_ + 1u >= due() + more_;
  if (waited) ++counts_.late;
  if (waited && had_its_time) {
    // Where twice as many are late, too, the storage gives no more.
    if (more_ < due()) ++more_;
    timely_ = 0;
  } else if (++timely_ == kTimelyRun) {
    timely_ = 0;
    if (more_ > 0) --more_;
  }
  if (duration < latency_ - latency_ / 4) {
    fruitless_ = 0;
  } else if (++fruitless_ == kMostFruitless) {
    fruitless_ = 0;
    trust_ = 0;
    rest_ = kLongRest;
  }
}

void Stream::saw_other(std::uint64_t duration) noexcept {
  if (duration < limits_->quick) {
    if (worth_ > 0) --worth_;
    return;
  }
  worth_ = static_cast<std::uint8_t>(std::min<unsigned>(worth_ + kWorthOfAWait, kMostWorth));
  smooth(latency_, duration, limits_->quick);
}

bool Stream::saw_read(const Extent& access, std::uint64_t start, std::uint64_t duration) noexcept {
  ++counts_.reads;
  if (last_end_ != 0) saw_gap(start > last_end_ ? start - last_end_ : 0);
  last_end_ = start + duration;
  counts_.wait += duration;
  if (requested_.take(access)) {
    saw_hit(access, duration);
  } else {
    saw_other(duration);
  }
  // Nothing is gained by knowing what comes out of memory anyway.
  if (worth_ == 0) {
    trust_ = covered_ = 0;
    // Reads that are not reported may come between this one and the next.
    last_end_ = 0;
    return false;
  }
  if (saw_prediction(access)) {
    trust_ = static_cast<std::uint8_t>(std::min<unsigned>(2u * trust_ + 1, kMostAhead));
    if (covered_ > 0) --covered_;
  } else {
    trust_ /= 2;
    covered_ = timely_ = 0;
    // What is expected now is something else than what nothing new was known of.
    if (rest_ <= kMostRest) rest_ = 0;
  }
  if (rest_ > 0) {
    --rest_;
    return false;
  }
  const unsigned wanted = depth();
  return wanted != 0 && covered_ + std::max(1u, wanted / 4) <= wanted;
}

unsigned Stream::plan(std::span<Extent> out, std::uint64_t file_bytes) noexcept {
  const unsigned wanted = depth();
  counts_.greatest_depth =
      static_cast<std::uint8_t>(std::max<unsigned>(counts_.greatest_depth, wanted));
  Prediction next[kMostAhead];
  const unsigned known = wanted == 0 ? 0 : kind_->predict(predictor_, {next, wanted});
  unsigned requests = 0, made = 0;
  std::uint64_t ahead_bytes = 0;
  covered_ = 0;
  for (unsigned i = 0; i < known; ++i) {
    const Extent& access = next[i].extent;
    const bool exists = access.length > 0 && access.offset >= 0 &&
                        static_cast<std::uint64_t>(access.offset) < file_bytes;
    if (exists) ahead_bytes += static_cast<std::uint64_t>(access.length);
    if (ahead_bytes > limits_->most_ahead_bytes) break;
    // The last read of a file ends with it, whatever was predicted.
    Extent within = access;
    if (exists) {
      within.length = static_cast<std::int64_t>(
          std::min(static_cast<std::uint64_t>(access.length),
                   file_bytes - static_cast<std::uint64_t>(access.offset)));
    }
    if (exists && !requested_.has(within)) {
      Extent* const last = requests == 0 ? nullptr : &out[requests - 1];
      if (last != nullptr && joins(*last, within)) {
        last->length = std::max(last->length, within.offset + within.length - last->offset);
      } else if (requests < out.size()) {
        out[requests++] = within;
      } else {
        break;
      }
      requested_.add(within);
      counts_.requested_bytes += static_cast<std::uint64_t>(within.length);
      ++counts_.requested;
      ++made;
    }
    ++covered_;
  }
  // Nothing new is known: to be asked at each read would cost more than it brings.
  if (made == 0) {
    rest_ = next_rest_;
    next_rest_ = static_cast<std::uint8_t>(std::min(2 * next_rest_, int{kMostRest}));
  } else {
    next_rest_ = 1;
  }
  return requests;
}

}  // namespace iotune::prefetch
