// The reads of one descriptor in one process, and what is to be requested ahead of them. Decides
// alone: it makes no I/O, asks no clock and takes no memory, so that a preload, a file system and
// a test can all drive it. Not thread-safe: the caller locks.
//
//   reader:   if (stream.saw_read({offset, length}, start, duration)) wake the helper;
//   helper:   n = stream.plan(requests, file_bytes); request each of them
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "patterns/predict/predictors.h"
#include "prefetch/streams/requested_ring.h"

namespace iotune::prefetch {

// What was done for a stream. Times are in the caller's unit, as given to saw_read.
struct Counts {
  std::uint64_t reads = 0;
  std::uint64_t requested_bytes = 0, hit_bytes = 0;
  std::uint64_t wait = 0;   // inside of reads
  std::uint64_t saved = 0;  // estimate: a hit's duration against those of other reads
  std::uint32_t hits = 0;   // reads of what had been requested before
  std::uint32_t late = 0;   // hits that waited all the same
  std::uint32_t requested = 0;
  std::uint8_t greatest_depth = 0;

  // Requested, and not read. Until the stream ends some of it may still be.
  std::uint64_t unused_bytes() const noexcept {
    return requested_bytes > hit_bytes ? requested_bytes - hit_bytes : 0;
  }
};

struct Limits {
  std::uint64_t quick = 0;  // a read that takes less does not wait for storage
  unsigned most_ahead = kMostAhead;
  std::uint64_t most_ahead_bytes = std::uint64_t{32} << 20;
};

class Stream {
 public:
  // `predictor` is started, of this kind, and outlives the stream, as do the limits. `known`: it
  // knows the stream from an earlier run, and is trusted at once.
  Stream(const patterns::PredictorKind& kind, std::byte* predictor, const Limits& limits,
         bool known = false) noexcept;

  // A read that was made, and when. True where plan() should be called.
  bool saw_read(const patterns::Extent& access, std::uint64_t start,
                std::uint64_t duration) noexcept;

  // Fills `out` with what to request now, the next first, neighbours joined, nothing past
  // `file_bytes`; returns how many. They count as requested; what `out` had no room for does not.
  unsigned plan(std::span<patterns::Extent> out, std::uint64_t file_bytes) noexcept;

  // Whether the next read, if it is the predicted one, has been requested.
  bool is_ahead() const noexcept { return covered_ != 0; }
  // Whether plan() would find something by what is known now.
  bool wants_more() const noexcept { return rest_ == 0 && covered_ < depth(); }

  // Whether a read that takes less than the limit of quick ones would change nothing that counts:
  // it need not be reported.
  bool is_idle() const noexcept { return worth_ == 0 && requested_.held() == 0; }

  // Whether reads come out of memory: the predictor gets none of them then.
  bool is_in_memory() const noexcept { return worth_ == 0; }

  // Whether its reads wait and loops explain few of them: it is to go on with "best".
  bool wants_best() const noexcept;
  // `memory` for patterns::BestPredictor, which outlives the stream, in place of what it had.
  void go_on_with_best(std::byte* memory) noexcept;

  // What was requested and not read is unused from here on.
  void end() noexcept { requested_.clear(); }

  const Counts& counts() const noexcept { return counts_; }
  // Accesses that are to be requested ahead; 0: the stream is given up for now.
  unsigned depth() const noexcept;

 private:
  bool saw_prediction(const patterns::Extent& access) noexcept;
  void saw_hit(const patterns::Extent& access, std::uint64_t duration) noexcept;
  void saw_other(std::uint64_t duration) noexcept;
  void saw_gap(std::uint64_t gap) noexcept;
  unsigned due() const noexcept;
  unsigned fair(std::uint32_t unused) const noexcept;

  const patterns::PredictorKind* kind_;
  std::byte* predictor_;
  const Limits* limits_;
  std::uint64_t last_end_ = 0;
  // Not longer than is worth knowing: some second.
  // Of the window: the time between reads, of which the storage needs as much for one.
  std::uint32_t window_gone_ = 0;
  std::uint32_t latency_ = 0;  // of reads that waited and were not requested, smoothed
  std::uint16_t rest_ = 0;     // reads until plan() may be asked for again
  std::uint8_t next_rest_ = 1;
  bool is_nest_ : 1;  // the predictor
  bool is_fair_ : 1;  // it does not know when the stream ends
  // Doubles with each right prediction, halves with each wrong one: what may be requested.
  std::uint8_t trust_ = 0;
  // Grows with each read that was not requested and waited, falls with each that did not.
  std::uint8_t worth_ = 0;
  std::uint8_t more_ = 0;       // added to the depth because hits waited
  std::uint8_t covered_ = 0;    // of the next accesses, requested already
  std::uint8_t timely_ = 0;     // hits since more_ changed, or since a surprise
  std::uint8_t fruitless_ = 0;  // hits in a row that took as long as if nothing had been requested
  std::uint8_t in_window_ = 0;  // reads since its first one
  std::uint8_t burst_ = 0;      // in such windows of late, the busiest of them counting most
  RequestedRing requested_;
  Counts counts_;
};

}  // namespace iotune::prefetch
